"""Records as frames, in the user's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from headstart.campaign.records import PREDICTION, Observation, Suggestion
from headstart.tasks import Problem

_RECORD = ("score", "score_is", "seed", "author", "version", "suggested_at", "observed_at", "reason")

RESERVED = frozenset({"suggestion", "observation", "status", *PREDICTION, *_RECORD})
"""Names of columns that a campaign's own tables use."""


def data_frame(observations: Sequence[Observation], problem: Problem) -> pd.DataFrame:
    """Measured experiments as an archive holds them."""
    return pd.DataFrame(
        [{**each.task, **each.inputs, problem.objective: each.outcome} for each in observations],
        columns=[*problem.general, *problem.inputs, problem.objective],
    )


def suggestion_frame(
    suggestions: Sequence[Suggestion], problem: Problem, index: pd.Index | None = None
) -> pd.DataFrame:
    """Experiments to run; what their score is stands in `attrs["score"]`."""
    frame = pd.DataFrame(
        [
            {"suggestion": each.id, **each.task, **each.inputs, **_expected(each), "score": each.score}
            for each in suggestions
        ],
        columns=["suggestion", *problem.general, *problem.inputs, *PREDICTION, "score"],
        index=index,
    )
    frame.attrs["score"] = suggestions[0].score_is if suggestions else ""
    return frame


def history_frame(
    suggestions: Sequence[Suggestion], observations: Sequence[Observation], problem: Problem
) -> pd.DataFrame:
    """One row an experiment, see `history_rows`."""
    columns = ["suggestion", "observation", "status", *problem.general, *problem.inputs, problem.objective]
    rows = history_rows(suggestions, observations, problem)
    frame = pd.DataFrame(rows, columns=[*columns, *PREDICTION, *_RECORD])
    frame = frame.astype({"suggestion": "Int64", "observation": "Int64", "seed": "Int64"})
    for name in ("suggested_at", "observed_at"):
        frame[name] = pd.to_datetime(frame[name], utc=True).astype("datetime64[us, UTC]")
    return frame


def history_rows(
    suggestions: Sequence[Suggestion], observations: Sequence[Observation], problem: Problem
) -> list[dict[str, Any]]:
    """One row an experiment, suggested, observed or both, in the order of their first record; archive rows are none."""
    since = [each for each in observations if not each.is_archive]
    by_suggestion = {each.suggestion: each for each in since if each.retracted_at is None}
    rows = [_experiment(each, by_suggestion.get(each.id), problem) for each in suggestions]
    rows += [_experiment(None, each, problem) for each in since if each.suggestion is None or each.retracted_at]
    return sorted(rows, key=lambda row: row.get("suggested_at") or row["observed_at"])


def _experiment(suggestion: Suggestion | None, observation: Observation | None, problem: Problem) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if suggestion is not None:
        row |= {"suggestion": suggestion.id, "status": suggestion.state, **suggestion.task, **suggestion.inputs}
        row |= {"score": suggestion.score, "score_is": suggestion.score_is, "seed": suggestion.seed}
        row |= _expected(suggestion) | {"suggested_at": suggestion.origin.made_at, "reason": suggestion.reason}
        row |= {"author": suggestion.origin.author, "version": suggestion.origin.version}
    if observation is not None and observation.origin is not None:
        row |= {"observation": observation.id, **observation.task, **observation.inputs}
        row |= {problem.objective: observation.outcome, "observed_at": observation.origin.made_at}
        row |= {"status": "retracted" if observation.retracted_at else "observed", **_expected(observation)}
        row |= {"author": observation.origin.author, "version": observation.origin.version}
        row |= {"suggestion": observation.suggestion, "reason": observation.reason or row.get("reason")}
    return row


def _expected(record: Suggestion | Observation) -> dict[str, float | None]:
    """The prediction as columns, empty where there was none."""
    return {name: getattr(record.prediction, name, None) for name in PREDICTION}
