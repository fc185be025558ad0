"""Numbers and findings in words, for people who are no statisticians."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PROOF = 0.025  # a share less likely than this is not put down to chance


def number(value: float | None) -> str:
    """Four significant digits, and no exponent where people write none.

    >>> number(0.123456), number(71.0), number(12345.6), number(1.5e9), number(None)
    ('0.1235', '71', '12346', '1.5e+09', '–')
    """
    if value is None:
        return "–"
    if 1e4 <= abs(value) < 1e7:
        return f"{value:.0f}"
    return f"{value:.4g}"


def percent(share: float) -> str:
    """A share as whole percents, on one line.

    >>> percent(0.8)
    '80\xa0%'
    """
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def listed(values: Mapping[str, Any]) -> str:
    """Names and values on one line.

    >>> listed({"pump": "A", "flow": 12.0})
    'pump = A, flow = 12'
    """
    shown = {name: value if isinstance(value, str) else number(value) for name, value in values.items()}
    return ", ".join(f"{name} = {value}" for name, value in shown.items())


def moment(time: str | None) -> str:
    """A stored time to the minute.

    >>> moment("2026-03-01T09:05:33.000001+00:00")
    '2026-03-01 09:05 UTC'
    """
    return "–" if time is None else f"{time[:10]} {time[11:16]} UTC"


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "experiment"), counted(3, "experiment")
    ('1 experiment', '3 experiments')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def honesty_in_words(summary: Mapping[str, Any]) -> str:
    """What the share of outcomes inside their intervals says, and what it does not."""
    count, promised = summary["count"], percent(summary["interval"])
    if not count:
        return "No prediction has been put to the test yet: it takes an experiment that was predicted, then measured."
    low, high = summary["share_range"]
    found = (
        f"{summary['inside']} of {counted(count, 'outcome')} ({percent(summary['share_inside'])}) lay inside the "
        f"interval that was to hold {promised} of them. "
    )
    within = f"with {counted(count, 'outcome')}, the true share may be anywhere from {percent(low)} to {percent(high)}"
    if low <= summary["interval"] <= high:
        verdict = f"That agrees with the promise; {within}."
    elif summary["chance"] > _PROOF:
        which = "fewer" if high < summary["interval"] else "more"
        verdict = f"That is {which} than promised, but so few outcomes can be chance."
    elif high < summary["interval"]:
        verdict = f"That is too few ({within}): the intervals are too narrow, so expect more surprises than they say."
    else:
        verdict = f"That is more than promised ({within}): the intervals are wider than they need to be."
    return found + verdict


def errors_in_words(summary: Mapping[str, Any]) -> str:
    """How far predictions were off, and how far a plain guess would have been."""
    if summary["rmse"] is None or summary["rmse_of_archive_mean"] is None:
        return ""
    return (
        f"Predictions were off by {number(summary['rmse'])} (root mean square); always guessing the archive's mean, "
        f"{number(summary['archive_mean'])}, would have been off by {number(summary['rmse_of_archive_mean'])}."
    )
