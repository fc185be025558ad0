"""A campaign at one moment: whatever is asked of it, the database is read once."""

from __future__ import annotations

from headstart.campaign import Campaign, Store
from headstart.campaign.records import Observation, Snapshot, Suggestion


class CampaignNow(Campaign):
    """Summaries of it agree with each other, for they have all seen the same."""

    def __init__(self, name: str | int, store: Store) -> None:
        super().__init__(name, store)
        self._now = super().snapshot()

    def snapshot(self) -> Snapshot:
        """All suggestions and observations at that moment."""
        return self._now

    def suggestions(self) -> list[Suggestion]:
        """All suggestions at that moment."""
        return self._now.suggestions

    def observations(self) -> list[Observation]:
        """All observations at that moment."""
        return self._now.observations
