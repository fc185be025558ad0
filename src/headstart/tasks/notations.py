"""How numbers are written: with a decimal point or a decimal comma, with or without thousands separators.

Each notation is a regular expression. Columns of many numbers take a quick path: one search over the whole column says
that it is written in a single plain way, and then the machine's own conversion does the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

# What stands for "not measured" among numbers. Among labels most of these are labels.
MISSING_NUMBERS = frozenset(
    ["", "NA", "N/A", "n/a", "nan", "NaN", "NULL", "null", "None", "<NA>", "#N/A", "-", "--", "?"]
)
MISSING_LABELS = frozenset(["", "nan", "NaN", "#N/A", "<NA>", "NULL", "null"])

_BLANKS = " \u00a0\u202f'\u2019"  # between groups of three digits these can mean nothing else
_PLAIN = str.maketrans({**dict.fromkeys(_BLANKS), "\u2212": "-"})


def _number(decimal: str, group: str) -> re.Pattern[str]:
    grouped = rf"[1-9][0-9]{{0,2}}(?:(?:\{group}[0-9]{{3}})+|(?:[{_BLANKS}][0-9]{{3}})+)"
    digits = rf"(?:{grouped}|0|[1-9][0-9]*)(?:\{decimal}[0-9]*)?|\{decimal}[0-9]+"
    return re.compile(rf"[+\-\u2212]?(?:(?:{digits})(?:e[+\-\u2212]?[0-9]+)?|inf(?:inity)?)", re.IGNORECASE)


NUMBER = {".": _number(".", ","), ",": _number(",", ".")}
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")  # fits 64 bits
PADDED = re.compile(r"0[0-9]+")  # "007": digits that are a name

# The same for a whole column, one cell a line, each line after a line end.
_QUICK = b"0123456789+-.,eE\n"
_LEADING_ZERO = re.compile(r"\n[+-]?0[0-9]")
_NOT_GROUPS = {  # a mark that cannot stand between thousands
    mark: re.compile(rf"\n[+-]?(?:0|[0-9]{{4,}})?\{mark}|\{mark}(?:[0-9]{{0,2}}|[0-9]{{4,}})(?:$|[eE\n])")
    for mark in ".,"
}


def parse(text: str, decimal: str) -> float:
    """The number that a text is in the notation of that decimal mark, nan where it is none.

    >>> parse("1.234,5", ","), parse("1,234.5", "."), parse("1 234", "."), parse("007", "."), parse("5 %", ".")
    (1234.5, 1234.5, 1234.0, nan, nan)
    """
    return float(plain(text, decimal)) if NUMBER[decimal].fullmatch(text.strip()) else float("nan")


def plain(text: str, decimal: str) -> str:
    """A number's text without thousands separators and with a decimal point.

    >>> plain(" 1.234,5", ",")
    '1234.5'
    """
    group = "," if decimal == "." else "."
    return text.strip().translate(_PLAIN).replace(group, "").replace(",", ".")


def quick(texts: Sequence[str]) -> tuple[str, np.ndarray] | None:
    """The decimal mark and the numbers of a column written in one plain way, or None where it takes a closer look.

    The mark is "" where there is no mark in the column.

    >>> quick(["12,5", "7", "NA"]), quick(["1,234"]), quick(["12,5", "12.5"]), quick(["A"])
    ((',', array([12.5,  7. ,  nan])), None, None, None)
    """
    given = [text for text in texts if text not in MISSING_NUMBERS]
    lines = "\n" + "\n".join(given)
    if not given or lines.encode(errors="replace").translate(None, _QUICK) or _LEADING_ZERO.search(lines):
        return None
    mark = "." if "." in lines else "," if "," in lines else ""
    if mark and (("," in lines and "." in lines) or not _NOT_GROUPS[mark].search(lines)):
        return None
    whole = len(given) == len(texts) and not any(character in lines for character in ".,eE")
    if mark == ",":
        given = lines[1:].replace(",", ".").split("\n")
    try:
        numbers = np.array(given, dtype=object).astype(np.int64 if whole else np.float64)
    except (ValueError, OverflowError):  # such as "1e", "1.2.3", or more digits than 64 bits hold
        return None
    if len(given) == len(texts):
        return mark, numbers
    column = np.full(len(texts), np.nan)
    column[np.fromiter((text not in MISSING_NUMBERS for text in texts), dtype=bool, count=len(texts))] = numbers
    return mark, column
