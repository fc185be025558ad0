"""Campaigns: what holds on SQLite and on PostgreSQL alike."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from campaign.conftest import NEW, PROBLEM, archive

import headstart as hs
from headstart.campaign import Store
from headstart.errors import DataError, DataWarning, ProblemError, StoreError


def sine(x):
    return np.sin(6 * x + 0.2)


def test_ask_run_tell_repeat(campaign, where):
    """A process a step: each opens the campaign anew and knows all that happened."""
    for step in range(4):
        asked = hs.Campaign.open("sines", store=where).suggest(NEW)
        assert asked["suggestion"].item() == step + 1
        told = hs.Campaign.open("sines", store=where)
        told.observe(asked.assign(y=sine(asked["x"])))
    history = campaign.history()
    assert history["status"].tolist() == ["observed"] * 4
    assert history["y"].min() < sine(np.linspace(0, 1, 500)).min() + 0.05
    np.testing.assert_allclose(history["y"], sine(history["x"]))
    assert len(campaign.data()) == 16


def test_a_record_says_who_when_and_what_was_expected(campaign, where):
    before = datetime.now(UTC) - timedelta(seconds=1)
    asked = campaign.suggest(NEW)
    hs.Campaign.open("sines", store=where, author="bob").observe(-0.5, suggestion=asked["suggestion"].item())
    row = campaign.history().iloc[0]
    assert row["author"] == "bob"
    assert campaign.suggestions()[0].origin.author == "ann"
    assert row["version"] == hs.__version__
    assert row["seed"] == 0
    assert row["score_is"] == "mean"
    for name in ("mean", "sd", "lower", "upper", "score"):
        assert row[name] == asked[name].item()
    assert before < row["suggested_at"] <= row["observed_at"] <= datetime.now(UTC)
    assert row["y"] == -0.5


def test_the_suggestion_is_that_of_the_surrogate(campaign):
    asked = campaign.suggest(NEW)
    direct = hs.fit(archive(), PROBLEM, seed=0).suggest(NEW)
    assert asked["x"].item() == direct["x"].item()
    assert asked["mean"].item() == direct["mean"].item()
    assert asked.attrs["score"] == "mean"


def test_pending_suggestions_are_kept_away_from(campaign, where):
    first = campaign.suggest(NEW)
    second = hs.Campaign.open("sines", store=where).suggest(NEW, n=2)
    xs = [first["x"].item(), *second["x"]]
    assert np.diff(np.sort(xs)).min() > 1e-4
    assert campaign.history()["status"].tolist() == ["pending"] * 3


def test_other_tasks_do_not_count_as_pending(campaign):
    first = campaign.suggest(NEW)
    other = campaign.suggest({"task": "another"}, seed=0)
    assert other["x"].item() == first["x"].item()


def test_a_withdrawn_experiment_is_not_suggested_again(campaign):
    first = campaign.suggest(NEW)
    campaign.withdraw(first["suggestion"].item(), reason="the sample broke")
    second = campaign.suggest(NEW)
    assert abs(second["x"].item() - first["x"].item()) > 1e-4
    row = campaign.history().iloc[0]
    assert (row["status"], row["reason"]) == ("withdrawn", "the sample broke")
    assert pd.isna(row["y"])


def test_withdrawing_twice_does_no_harm_and_an_observed_one_cannot_be(campaign):
    ids = campaign.suggest(NEW, n=2)["suggestion"].tolist()
    campaign.withdraw(ids)
    campaign.withdraw(ids)
    campaign.observe(1.0, suggestion=ids[0])  # it was run after all
    with pytest.raises(DataError, match="was observed"):
        campaign.withdraw(ids[0])
    with pytest.raises(DataError, match="no suggestion 99"):
        campaign.withdraw([ids[1], 99])
    assert campaign.history()["status"].tolist() == ["observed", "withdrawn"]


def test_an_experiment_nobody_suggested(campaign):
    campaign.observe({"task": ["new", "new"], "x": [0.2, 0.9], "y": [0.5, -0.5]})
    campaign.observe([{"x": 0.4, "y": 0.1}], task=NEW)
    history = campaign.history()
    assert history["suggestion"].isna().all()
    assert history["x"].tolist() == [0.2, 0.9, 0.4]
    assert history["mean"].isna().all()  # no surrogate existed that could have been asked


def test_its_prediction_is_that_of_the_surrogate_that_had_not_seen_it(campaign):
    before = campaign.surrogate().predict({"task": ["new"], "x": [0.3]})
    campaign.observe({"task": "new", "x": 0.3, "y": 5.0})
    campaign.surrogate()
    row = campaign.history().iloc[0]
    assert row["mean"] == before["mean"].item()
    assert row["upper"] == before["upper"].item()


def test_a_suggestion_may_be_run_at_other_inputs(campaign):
    asked = campaign.suggest(NEW)
    campaign.observe(asked.assign(x=0.123, y=1.0))
    row = campaign.history().iloc[0]
    assert (row["x"], row["suggestion"], row["status"]) == (0.123, asked["suggestion"].item(), "observed")
    assert pd.isna(row["mean"])  # what was expected elsewhere is no expectation here
    campaign.surrogate()
    assert campaign.history()["mean"].notna().all()


def test_part_of_a_batch(campaign):
    asked = campaign.suggest(NEW, n=3)
    mixed = pd.DataFrame({"suggestion": [asked["suggestion"][1], None], "task": [None, "new"], "x": [None, 0.7]})
    campaign.observe(mixed.assign(y=[0.1, 0.2]))
    history = campaign.history()
    assert history["status"].tolist() == ["pending", "observed", "pending", "observed"]
    assert history["x"].tolist()[1] == asked["x"][1]
    assert history["x"].tolist()[3] == 0.7


def test_telling_twice_stores_once(campaign):
    asked = campaign.suggest(NEW).assign(y=0.4)
    assert campaign.observe(asked) == campaign.observe(asked)
    assert len(campaign.data()) == 13
    with pytest.raises(DataError, match=r"outcome 0\.4 at x .*retract observation 13"):
        campaign.observe(asked.assign(y=0.5))
    assert len(campaign.data()) == 13


def test_digits_lost_in_a_spreadsheet_do_no_harm(campaign):
    asked = campaign.suggest(NEW)
    rounded = asked.assign(x=float(f"{asked['x'].item():.4g}"), y=0.4)
    (first,) = campaign.observe(rounded)
    assert campaign.history()["mean"].item() == asked["mean"].item()  # it was run where it was suggested
    assert campaign.observe(asked.assign(y=0.4)) == [first]


def test_a_wrong_outcome_is_retracted_and_told_again(campaign):
    asked = campaign.suggest(NEW)
    with pytest.warns(
        DataWarning, match=r"'y' = 1000 lies far outside of the 12 outcomes known so far, -0\.88.* to 0\.99"
    ):
        (wrong,) = campaign.observe(asked.assign(y=1000.0))
    assert campaign.predict(asked)["mean"].item() > 100
    campaign.retract(wrong, reason="typed in the wrong unit")
    with pytest.raises(DataError, match="retracted before"):
        campaign.retract(wrong)
    with pytest.raises(DataError, match="row of the archive"):
        campaign.retract(1)
    assert len(campaign.data()) == 12
    assert campaign.predict(asked)["mean"].item() == pytest.approx(asked["mean"].item())
    campaign.observe(asked.assign(y=1.0))
    history = campaign.history()
    assert sorted(history["status"]) == ["observed", "retracted"]
    assert history.loc[history["status"] == "retracted", "reason"].item() == "typed in the wrong unit"
    with pytest.raises(DataError, match="no observation 99"):
        campaign.retract(99)


def test_nothing_of_a_bad_batch_is_stored(campaign):
    asked = campaign.suggest(NEW, n=2)
    with pytest.raises(DataError, match="'y'"):
        campaign.observe(asked.assign(y=[1.0, np.nan]))
    with pytest.raises(DataError, match=r"suggestion 77.*Pending are: 1, 2"):
        campaign.observe(pd.DataFrame({"suggestion": [1, 77], "y": [1.0, 2.0]}))
    with pytest.raises(DataError, match="of which experiment"):
        campaign.observe(1.0)
    assert campaign.history()["status"].tolist() == ["pending"] * 2
    assert len(campaign.data()) == 12


def test_candidates(campaign, tmp_path):
    candidates = pd.DataFrame({"x": [0.1, 0.5, 0.9]}, index=["a", "b", "c"])
    chosen = [campaign.suggest(NEW, candidates=candidates) for _ in range(3)]
    assert {frame.index.item() for frame in chosen} == {"a", "b", "c"}
    with pytest.raises(DataError, match="0 of 3 candidates"):
        campaign.suggest(NEW, candidates=candidates)
    candidates.to_csv(tmp_path / "list.csv", index=False)
    with pytest.raises(DataError, match=r"list\.csv"):
        campaign.suggest(NEW, candidates=tmp_path / "list.csv")


def test_a_surrogate_is_fitted_once_for_the_same_data(campaign, where, monkeypatch):
    from headstart.campaign import fitting

    fits = []
    monkeypatch.setattr(fitting, "fit", lambda *a, **k: fits.append(1) or hs.fit(*a, **k))
    fitted = campaign.surrogate()
    assert campaign.surrogate() is fitted
    again = hs.Campaign.open("sines", store=where)
    pd.testing.assert_frame_equal(again.predict(archive()), fitted.predict(archive()))
    assert len(fits) == 1
    again.observe({"task": "new", "x": 0.5, "y": 0.0})
    updated = hs.Campaign.open("sines", store=where).surrogate()
    assert len(fits) == 1  # warm-started
    expected = fitted.observe({"task": "new", "x": 0.5, "y": 0.0})
    pd.testing.assert_frame_equal(updated.predict(archive()), expected.predict(archive()))
    again.observe(archive(tasks=5).tail(8).assign(task="many"))
    campaign.surrogate()
    assert len(fits) == 2  # more than half as many rows again: fitted anew


def test_a_damaged_or_foreign_cache_is_made_again(campaign, where):
    from headstart.campaign.records import StoredSurrogate

    expected = campaign.surrogate().predict(archive())
    campaign._store.put_surrogate(campaign.id, StoredSurrogate(b"nonsense", 12, 12, 12))
    pd.testing.assert_frame_equal(hs.Campaign.open("sines", store=where).predict(archive()), expected)


def test_the_same_seed_gives_the_same_campaign(tmp_path):
    histories = []
    for name in ("a.db", "b.db"):
        campaign = hs.Campaign.create("sines", archive(), PROBLEM, store=tmp_path / name, seed=5)
        for _ in range(2):
            asked = campaign.suggest(NEW)
            campaign.observe(asked.assign(y=sine(asked["x"])))
        histories.append(campaign.history()[["x", "y", "mean", "sd", "score", "seed"]])
    pd.testing.assert_frame_equal(*histories)


def test_export(campaign, tmp_path):
    asked = campaign.suggest(NEW, n=2)
    campaign.observe(0.25, suggestion=asked["suggestion"][0])
    for suffix in ("csv", "xlsx", "parquet"):
        campaign.export(tmp_path / f"history.{suffix}")
        table = hs.read_table(tmp_path / f"history.{suffix}")
        assert table["status"].tolist() == ["observed", "pending"]
        np.testing.assert_allclose(table["x"], asked["x"], rtol=1e-12)
    campaign.export(tmp_path / "data.csv", what="data")
    data = hs.read_table(tmp_path / "data.csv")
    assert list(data.columns) == ["task", "x", "y"]
    assert len(data) == 13
    with pytest.raises(ProblemError, match="history, data"):
        campaign.export(tmp_path / "x.csv", what="all")


def test_a_campaign_from_a_file(where, tmp_path):
    archive().to_csv(tmp_path / "archive.csv", index=False)
    problem = hs.Problem(inputs=["x"], general=["task"], objective="y")
    campaign = hs.Campaign.create("from file", tmp_path / "archive.csv", problem, store=where)
    assert campaign.problem.inputs["x"] == (archive()["x"].min(), archive()["x"].max())
    pd.testing.assert_frame_equal(campaign.data(), archive(), check_dtype=False)
    missing = hs.Problem(inputs=["x"], general=["task"], objective="z")
    with pytest.raises(DataError, match=r"archive\.csv.*'z'"):
        hs.Campaign.create("other", tmp_path / "archive.csv", missing, store=where)


def test_names_of_campaigns(campaign, where):
    with pytest.raises(ProblemError, match="already"):
        hs.Campaign.create("sines", archive(), PROBLEM, store=where)
    with pytest.raises(ProblemError, match="name"):
        hs.Campaign.create("  ", archive(), PROBLEM, store=where)
    with pytest.raises(StoreError, match=r"Did you mean 'sines'\? It holds: 'sines'"):
        hs.Campaign.open("sine", store=where)


def test_what_could_never_be_fitted_is_not_created(where):
    for options in ({"kernel": "foo"}, {"model": "zz"}, {"seed": -3}, {"latent_dim": 0}):
        with pytest.raises(ProblemError):
            hs.Campaign.create("sines", archive(), PROBLEM, store=where, **options)
    with pytest.raises(DataError, match="--sample"):
        hs.Campaign.create("sines", archive(tasks=10, rows=400), PROBLEM, store=where)
    with pytest.raises(ProblemError, match="as text"):
        hs.Campaign.create(7, archive(), PROBLEM, store=where)
    assert Store(where, create=True).campaigns() == []


def test_a_store_serves_several_authors(campaign, where):
    store = Store(where, author="ann")
    asked = hs.Campaign.open("sines", store=store, author="cyd").suggest(NEW)
    assert hs.Campaign.open("sines", store=store).suggestions()[0].origin.author == "cyd"
    assert store.author == "ann"
    assert len(asked) == 1


def test_the_same_suggestion_twice_in_a_table(campaign):
    campaign.suggest(NEW)
    with pytest.raises(DataError, match="twice, with 1 and 2"):
        campaign.observe(pd.DataFrame({"suggestion": [1, 1], "y": [1.0, 2.0]}))
    assert campaign.observe(pd.DataFrame({"suggestion": [1, 1], "y": [1.0, 1.0]})) == [13, 13]
    assert len(campaign.data()) == 13


def test_an_outcome_of_another_task_does_not_answer_a_suggestion(campaign):
    asked = campaign.suggest(NEW)
    with pytest.raises(DataError, match="Suggestion 1 is for task new, and the outcome is of task other"):
        campaign.observe(asked.assign(task="other", y=1.0))
    assert campaign.history()["status"].tolist() == ["pending"]


@pytest.mark.parametrize("wrong", [10**12, 10**30, -1, "12", 1.5, None])
def test_ids_that_cannot_be(campaign, wrong):
    campaign.suggest(NEW, n=2)
    for step in (campaign.withdraw, campaign.retract):
        with pytest.raises(hs.HeadstartError):
            step(wrong)
    assert campaign.history()["status"].tolist() == ["pending"] * 2


def test_a_withdrawn_experiment_promises_nothing(campaign):
    """Its outcome will never come, so what is expected of the next does not count on it."""
    first = campaign.suggest(NEW)
    campaign.withdraw(first["suggestion"].item())
    second = campaign.suggest(NEW)
    assert second.attrs["score"] == "mean"
    assert second["score"].item() == pytest.approx(second["mean"].item())
    assert abs(second["x"].item() - first["x"].item()) >= 0.05


def test_a_retraction_between_looking_and_storing_is_noticed(where, monkeypatch):
    """The lattice's best point comes back while another process chooses: it must not be suggested twice."""
    problem = hs.Problem(inputs={"x": (0, 1, 0.25)}, general=["task"], objective="y", goal="minimize")
    hs.Campaign.create("c", archive(), problem, store=where)
    campaign, other = (hs.Campaign.open("c", store=where) for _ in range(2))
    asked = campaign.suggest(NEW)
    (observation,) = campaign.observe(asked.assign(y=5.0))
    store = campaign._store
    look = store.snapshot
    looks = []

    def look_and_let_others_act(campaign_id):
        seen = look(campaign_id)
        looks.append(seen)
        if len(looks) == 1:
            other.retract(observation)
            other.observe({"task": "new", "x": 0.5, "y": 0.0})
        return seen

    monkeypatch.setattr(store, "snapshot", look_and_let_others_act)
    campaign.suggest(NEW, n=3)
    assert len(looks) == 2
    history = campaign.history()
    standing = history[history["status"].isin(["pending", "observed"])]
    assert sorted(standing["x"]) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_another_process_has_brought_the_surrogate_further(campaign, where, monkeypatch):
    from headstart.campaign import fitting

    campaign.surrogate()
    campaign.observe({"task": "new", "x": 0.5, "y": 0.0})
    further = hs.Campaign.open("sines", store=where).surrogate()
    monkeypatch.setattr(fitting.Surrogate, "observe", lambda *a, **k: pytest.fail("learned twice"))
    pd.testing.assert_frame_equal(campaign.predict(archive()), further.predict(archive()))


def test_many_single_rows_lead_to_a_new_fit(campaign, monkeypatch):
    from headstart.campaign import fitting

    fits = []
    monkeypatch.setattr(fitting, "fit", lambda *a, **k: fits.append(len(a[0])) or hs.fit(*a, **k))
    for step in range(8):
        campaign.surrogate()
        campaign.observe({"task": "new", "x": step / 10, "y": 0.1 * step})
    campaign.surrogate()
    assert fits == [12, 19]


def test_reserved_columns(where):
    frame = archive().rename(columns={"task": "status"})
    problem = hs.Problem(inputs=["x"], general=["status"], objective="y")
    with pytest.raises(ProblemError, match=r"'status'.*rename"):
        hs.Campaign.create("c", frame, problem, store=where)


def test_the_list_of_campaigns(campaign, where):
    hs.Campaign.create("later", archive(tasks=2), PROBLEM, store=where, author="bob")
    asked = campaign.suggest(NEW, n=2)
    campaign.observe(0.1, suggestion=asked["suggestion"][0])
    first, second = Store(where).campaigns()
    assert (first.name, first.archive_rows, first.observed, first.pending) == ("sines", 12, 1, 1)
    assert (second.name, second.archive_rows, second.observed, second.pending) == ("later", 8, 0, 0)
    assert second.origin.author == "bob"
    assert first.last_activity > second.last_activity


def test_campaigns_do_not_mix(campaign, where):
    other = hs.Campaign.create("other", archive(), PROBLEM, store=where)
    asked = campaign.suggest(NEW)["suggestion"].item()
    with pytest.raises(DataError, match=f"suggestion {asked}.*None is pending"):
        other.observe(1.0, suggestion=asked)
    with pytest.raises(DataError, match=f"no suggestion {asked}"):
        other.withdraw(asked)


def test_a_label_spelled_otherwise_is_warned_of(campaign):
    with pytest.warns(DataWarning, match="'legacy 0' and 'Legacy 0'"):
        campaign.observe({"task": "Legacy 0", "x": 0.5, "y": 0.0})


def test_numbers_and_names_are_stored_exactly(where):
    """Doubles, awkward names and labels, and numbers as labels come back as they went."""
    frame = pd.DataFrame(
        {
            "größe %s": [1 / 3, np.nextafter(1, 2), 1e-300, -1e300],
            "la'bel; DROP TABLE campaign": [7, 7, 8, 8],
            "outcome": [0.1, 0.2, 1 / 7, 1e12],
        }
    )
    problem = hs.Problem(inputs=["größe %s"], general=["la'bel; DROP TABLE campaign"], objective="outcome")
    campaign = hs.Campaign.create("naïve 'name'", frame, problem, store=where)
    data = hs.Campaign.open("naïve 'name'", store=where).data()
    assert data["größe %s"].tolist() == frame["größe %s"].tolist()
    assert data["outcome"].tolist() == frame["outcome"].tolist()
    assert data["la'bel; DROP TABLE campaign"].tolist() == ["7", "7", "8", "8"]
    assert campaign.problem == problem.resolved(frame)
