"""The surrogate of a campaign: fitted once for the same data, warm-started when data came."""

from __future__ import annotations

import warnings
from typing import Any

from headstart.campaign.records import Observation, Prediction, StoredSurrogate
from headstart.campaign.store import Store
from headstart.campaign.tables import data_frame
from headstart.errors import DataWarning, FileFormatError
from headstart.models.inference import Progress
from headstart.surrogate import Surrogate, fit
from headstart.tasks import Problem

# A surrogate that has learned more than this share of rows since it was fitted is better fitted anew.
_WARM_SHARE = 0.5


class Fitting:
    """Keeps the last surrogate, here and in the store, and brings it up to date."""

    def __init__(self, store: Store, campaign_id: int, problem: Problem, settings: dict[str, Any]) -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._problem = problem
        self._settings = settings
        self._last: tuple[Surrogate, StoredSurrogate] | None = None

    def surrogate(self, rows: list[Observation], progress: Progress | None = None) -> Surrogate:
        """The surrogate of these rows, which are all that count, in the order they came."""
        last = self._last
        if last is None or last[1].last_observation < rows[-1].id:
            last = self._newer(last)
        if last is not None and not _is_start_of(last[1], rows):
            last = None
        new = [row for row in rows if last is None or row.id > last[1].last_observation]
        if last is not None and not new:
            self._last = last
            return last[0]
        if last is not None:
            self._judge(last[0], new)
        if last is not None and len(rows) <= (1 + _WARM_SHARE) * last[1].fitted_rows:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # who told of these rows was warned then
                surrogate, fitted_rows = last[0].observe(data_frame(new, self._problem)), last[1].fitted_rows
        else:
            surrogate = fit(data_frame(rows, self._problem), self._problem, progress=progress, **self._settings)
            fitted_rows = len(rows)
        kept = StoredSurrogate(surrogate.to_bytes(), rows[-1].id, len(rows), fitted_rows)
        self._store.put_surrogate(self._campaign_id, kept)
        self._last = surrogate, kept
        return surrogate

    def _newer(self, last: tuple[Surrogate, StoredSurrogate] | None) -> tuple[Surrogate, StoredSurrogate] | None:
        """The stored surrogate if another process has brought it further than this one, else this one's."""
        stored = self._store.surrogate(self._campaign_id)
        if stored is None or (last is not None and stored.last_observation <= last[1].last_observation):
            return last
        try:
            return Surrogate.from_bytes(stored.content), stored
        except FileFormatError:  # a cache: what cannot be read is made again
            return last

    def _judge(self, surrogate: Surrogate, new: list[Observation]) -> None:
        """Record what was expected of observations made without a suggestion, by a surrogate that has not seen them."""
        unexpected = [row for row in new if row.prediction is None]
        if unexpected:
            frame = surrogate.predict(data_frame(unexpected, self._problem))
            self._store.add_predictions(
                {
                    row.id: Prediction(each["mean"], each["sd"], each["lower"], each["upper"])
                    for row, each in zip(unexpected, frame.to_dict("records"), strict=True)
                }
            )


def _is_start_of(stored: StoredSurrogate, rows: list[Observation]) -> bool:
    """Whether a surrogate has seen the first of these rows and no others: none was retracted since."""
    return sum(row.id <= stored.last_observation for row in rows) == stored.rows
