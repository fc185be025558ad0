"""Real databases for the tests: an SQLite file, and a PostgreSQL server of their own."""

import numpy as np
import pandas as pd
import pytest
from campaign_databases import postgresql, postgresql_server  # noqa: F401 - fixtures

import headstart as hs


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path) -> str:
    """An empty database of either kind: what holds for one holds for the other."""
    return str(tmp_path / "headstart.db") if request.param == "sqlite" else request.getfixturevalue("postgresql")


PROBLEM = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal="minimize")
NEW = {"task": "new"}


def archive(tasks=3, rows=4) -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"task": np.repeat([f"legacy {t}" for t in range(tasks)], rows)})
    frame["x"] = random.random(len(frame)).round(6)
    frame["y"] = np.sin(6 * frame["x"]) + 0.1 * np.repeat(np.arange(tasks), rows)
    return frame


@pytest.fixture
def campaign(where) -> hs.Campaign:
    return hs.Campaign.create("sines", archive(), PROBLEM, store=where, author="ann")
