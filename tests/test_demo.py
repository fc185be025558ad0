"""The demonstration: what it claims is computed right, and it writes what it says."""

import itertools

import numpy as np
import pytest

from headstart import demo


def test_the_expected_best_of_random_choice_is_exact():
    outcomes = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.0])
    for k, expected in enumerate(demo._random_choice(outcomes, 6), start=1):
        every = [max(drawn) for drawn in itertools.combinations(outcomes, k)]
        assert expected == pytest.approx(np.mean(every))


def test_no_run_of_the_hidden_catalyst_is_in_the_archive():
    legacy, hidden = demo._data()
    assert demo.HIDDEN not in set(legacy["catalyst"])
    assert legacy["catalyst"].nunique() == 34
    assert len(hidden) == 216


def test_the_lone_process_never_repeats_and_ends_at_the_best_of_all():
    _, hidden = demo._data()
    few = hidden.head(8)
    best = demo._gp_alone(few, 8, seed=0)
    assert (np.diff(best) >= 0).all()
    assert best[-1] == few[demo.PROBLEM.objective].max()


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo, "_LEGACY_ROWS", 2)
    monkeypatch.setattr(demo, "_REPEATS", 1)


def test_a_short_demonstration(small, tmp_path):
    said = []
    (tmp_path / "new" / "folder").mkdir(parents=True)
    (tmp_path / "new" / "folder" / "campaign.db").write_text("somebody's own")
    result = demo.run(tmp_path / "new" / "folder", rounds=2, say=said.append)
    assert (result.folder / "campaign.db").read_text() == "somebody's own"
    assert {"report.html", "race.png", "headstart-demo.db"} <= {path.name for path in result.folder.iterdir()}
    assert len(said) == 4
    _, hidden = demo._data()
    assert set(result.outcomes) <= set(hidden[demo.PROBLEM.objective])
    assert result.table()["Headstart"].tolist() == np.maximum.accumulate(result.outcomes).tolist()
    assert f"{result.outcomes[0]:.2f}" in result.conclusion
    again = demo.run(result.folder, rounds=2, say=said.append)  # a second time starts anew
    assert again.to_dict() == result.to_dict()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(demo.HeadstartError, match="--folder"):
        demo.run(tmp_path / "file" / "folder")
