"""Small campaigns to report on; those of the session are for looking only."""

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import DataWarning

NEW = {"machine": "new", "lab": "north"}


def response(frame: pd.DataFrame) -> pd.Series:
    return (frame["speed"] - 30) ** 2 / 100 + 0.3 * frame["blades"]


@pytest.fixture(scope="session")
def problem() -> hs.Problem:
    return hs.Problem(
        inputs={"speed": (0, 100), "blades": (2, 6, 1)}, general=["machine", "lab"], objective="loss", goal="minimize"
    )


@pytest.fixture(scope="session")
def archive() -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"machine": np.repeat(["old 1", "old 2", "old 3"], 6), "lab": ["north", "south"] * 9})
    frame["speed"] = random.uniform(0, 100, len(frame)).round(3)
    frame["blades"] = random.integers(2, 7, len(frame))
    frame["loss"] = response(frame) + np.repeat([0.0, 2.0, 8.0], 6) + 0.1 * random.standard_normal(len(frame))
    return frame


@pytest.fixture(scope="session")
def told(archive, problem, tmp_path_factory) -> hs.Campaign:
    """A campaign in which everything has happened once."""
    store = tmp_path_factory.mktemp("told") / "h.db"
    campaign = hs.Campaign.create("told", archive, problem, store=store, author="ann")
    # A choice among listed settings is quick; how well it is made does not matter here.
    settings = pd.DataFrame({"speed": np.linspace(0, 100, 12), "blades": [2, 3, 4, 5, 6, 2] * 2})
    other = campaign.suggest({"machine": "other", "lab": "south"}, candidates=settings)
    campaign.observe(other.assign(loss=40.0))
    for _ in range(2):
        asked = campaign.suggest(NEW, candidates=settings)
        campaign.observe(asked.assign(loss=response(asked) + 1))
    campaign.observe(pd.DataFrame([{**NEW, "speed": 80.0, "blades": 3, "loss": 26.5}]))
    with pytest.warns(DataWarning, match="slip"):
        (wrong,) = campaign.observe(pd.DataFrame([{**NEW, "speed": 10.0, "blades": 3, "loss": -999.0}]))
    campaign.retract(wrong, reason="typing error")
    broken = campaign.suggest(NEW, candidates=settings)
    campaign.withdraw(int(broken["suggestion"].iloc[0]), reason="bearing broke")
    campaign.suggest(NEW, n=2, candidates=settings)
    campaign.surrogate()
    return campaign


@pytest.fixture
def fresh(archive, problem, tmp_path) -> hs.Campaign:
    """A campaign in which nothing has happened yet."""
    return hs.Campaign.create("fresh", archive, problem, store=tmp_path / "h.db", author="ann")
