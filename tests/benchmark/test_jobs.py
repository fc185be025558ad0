"""Jobs and their results: keys, storage, resumption, failures, and deaths of processes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from benchmark.unruly import Unruly, add_one_by_one, begun, gate_of, killed_jobs, study_of, wait_for

from headstart.benchmark import jobs as jobs_module
from headstart.benchmark.contenders import EmbeddingGP, RandomChoice
from headstart.benchmark.execution import run_jobs
from headstart.benchmark.experiments import Optimization, Regression
from headstart.benchmark.jobs import Job, Study, run_batch
from headstart.benchmark.results import Results
from headstart.errors import DataError, FileFormatError, HeadstartError, MissingExtraError

TESTS = Path(__file__).parent.parent
STUDY = Study(Optimization(3), "toy-fresh", RandomChoice())


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "results")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def path_of(results: Results, study: Study) -> Path:
    return results.folder / f"{study.file_name}.parquet"


def store(results: Results, jobs: list[Job]) -> None:
    results.add(run_batch(jobs), jobs[0].study)


def by_seed(frame: pd.DataFrame) -> pd.DataFrame:
    """Without what depends on the clock."""
    return frame.drop(columns="seconds").sort_values(["seed", "evaluation"]).reset_index(drop=True)


# Keys


JOB = Job(Optimization(3), "pump", "double_suction", 0, EmbeddingGP())
CHANGES = {
    "experiment": replace(JOB, experiment=Regression((0, 1))),
    "evaluations": replace(JOB, experiment=Optimization(4)),
    "system": replace(JOB, system="additive"),
    "task": replace(JOB, task="process_oil"),
    "seed": replace(JOB, seed=1),
    "contender": replace(JOB, contender=RandomChoice()),
    "kind": replace(JOB, contender=RandomChoice(label="BEGP")),
    "label": replace(JOB, contender=EmbeddingGP(label="mine")),
    "embedding": replace(JOB, contender=EmbeddingGP(embedding="point")),
    "kernel": replace(JOB, contender=EmbeddingGP(kernel="matern52")),
    "latent dimension": replace(JOB, contender=EmbeddingGP(latent_dim=2)),
    "draws": replace(JOB, contender=EmbeddingGP(draws=1)),
}


def test_every_part_of_a_job_changes_its_key() -> None:
    keys = {JOB.key, *(job.key for job in CHANGES.values())}
    assert len(keys) == 1 + len(CHANGES)


def test_the_counts_of_a_regression_change_its_key() -> None:
    assert replace(JOB, experiment=Regression((0, 1))).key != replace(JOB, experiment=Regression((0, 2))).key


@pytest.mark.parametrize(("name", "value"), [("__version__", "99.0.0"), ("REVISION", 10**6)])
def test_another_version_or_revision_has_other_keys(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str | int
) -> None:
    before = replace(JOB).key
    monkeypatch.setattr(jobs_module, name, value)
    assert replace(JOB).key != before


def test_a_study_has_a_job_a_task_and_seed() -> None:
    jobs = Study(Optimization(3), "pump", RandomChoice()).jobs(range(3))
    assert len(jobs) == 18 == len({(job.task, job.seed) for job in jobs})
    assert len({job.study for job in jobs}) == 1
    assert [job.task for job in Study(Optimization(3), "pump", RandomChoice()).jobs([7], ["process_oil"])] == [
        "process_oil"
    ]


def test_a_batch_says_what_each_result_is() -> None:
    jobs = STUDY.jobs([4, 2])
    frames = run_batch(jobs)
    for job, frame in zip(jobs, frames, strict=True):
        [alone] = STUDY.experiment.run(
            [jobs_module.get_system("toy-fresh").trial("current", job.seed)], STUDY.contender, [job.seed]
        )
        assert frame["outcome"].tolist() == alone["outcome"].tolist()
        said = frame[["key", "experiment", "system", "task", "seed", "model"]].drop_duplicates()
        assert said.values.tolist() == [[job.key, "optimization", "toy-fresh", "current", job.seed, "random"]]


# Storage


def test_results_come_back_as_they_were(results: Results) -> None:
    jobs = STUDY.jobs(range(4))
    frames = run_batch(jobs)
    results.add(frames, STUDY)
    pd.testing.assert_frame_equal(results.load(jobs), pd.concat(frames, ignore_index=True))
    pd.testing.assert_frame_equal(results.load(jobs[2:3]), frames[2])


def test_missing_scores_come_back_as_missing(results: Results) -> None:
    study = Study(Regression((0, 1)), "toy-fresh", RandomChoice())
    jobs = study.jobs(range(2))
    for job in jobs:  # one by one, as workers do
        results.add(run_batch([job]), study)
    found = results.load(jobs)
    assert found["rows"].tolist() == [0, 1, 0, 1]
    assert found["rmse"].isna().all()
    assert found["rmse"].dtype == np.float64


def test_what_is_missing_is_known_and_said(results: Results) -> None:
    jobs = STUDY.jobs(range(4))
    assert results.missing(jobs) == jobs
    assert results.available(jobs).empty
    store(results, [jobs[1], jobs[3]])
    assert results.missing(jobs) == [jobs[0], jobs[2]]
    assert set(results.available(jobs)["seed"]) == {1, 3}
    with pytest.raises(DataError, match=r"2 of 4 jobs have no result.*'seed': 0"):
        results.load(jobs)


def test_studies_of_one_name_share_a_file_and_not_their_results(results: Results) -> None:
    shorter = Study(Optimization(2), "toy-fresh", RandomChoice())
    assert path_of(results, shorter) == path_of(results, STUDY)
    store(results, STUDY.jobs([0]))
    store(results, shorter.jobs([0]))
    assert results.load(STUDY.jobs([0]))["evaluation"].tolist() == [1, 2, 3]
    assert results.load(shorter.jobs([0]))["evaluation"].tolist() == [1, 2]


def test_several_studies_load_as_one_table(results: Results) -> None:
    other = Study(Optimization(3), "forrester-paper", RandomChoice())
    jobs = [*STUDY.jobs([0, 1]), *other.jobs([0])]
    store(results, jobs[:2])
    store(results, jobs[2:])
    found = results.load(jobs)
    assert found.groupby("system").size().to_dict() == {"toy-fresh": 6, "forrester-paper": 3}


def test_a_new_version_replaces_the_old_result_of_the_same_job_alone(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "__version__", "0.0.1")
    old = STUDY.jobs([0, 1])
    store(results, old)
    monkeypatch.setattr(jobs_module, "__version__", "0.0.2")
    new = STUDY.jobs([0, 1])
    assert results.missing(new) == new
    store(results, new[:1])
    assert results.missing(new) == new[1:]
    stored = pd.read_parquet(path_of(results, STUDY))
    versions = stored.groupby("seed")["version"].unique().map(list).to_dict()
    assert versions == {0: ["0.0.2"], 1: ["0.0.1"]}
    assert len(stored) == 6
    assert results.missing(old) == old[:1]


def test_a_result_that_is_added_again_is_stored_once(results: Results) -> None:
    jobs = STUDY.jobs([0])
    store(results, jobs)
    store(results, jobs)
    assert len(pd.read_parquet(path_of(results, STUDY))) == 3


DAMAGES = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "text": lambda content: b"PAR1 is how it begins",
    "one byte of a number": lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_and_kept(results: Results, damage: str) -> None:
    jobs = STUDY.jobs(range(2))
    store(results, jobs)
    path = path_of(results, STUDY)
    damaged = DAMAGES[damage](path.read_bytes())
    path.write_bytes(damaged)
    other = Study(Optimization(3), "toy-paper", RandomChoice()).jobs([0])
    for attempt in (
        lambda: results.missing(jobs),
        lambda: results.load(jobs),
        lambda: store(results, jobs),
        lambda: run_jobs([*other, *jobs], results, workers=1),
    ):
        with pytest.raises(FileFormatError, match="delete it: its jobs will be run again") as caught:
            attempt()
        assert str(path) in str(caught.value)
        assert path.read_bytes() == damaged
    # The advice is good, and the other studies are not concerned.
    store(results, other)
    path.unlink()
    store(results, jobs)
    assert results.missing([*jobs, *other]) == []


def test_a_file_of_something_else_is_refused(results: Results) -> None:
    results.folder.mkdir()
    pd.DataFrame({"rmse": [1.0]}).to_parquet(path_of(results, STUDY))
    with pytest.raises(FileFormatError, match="cannot be read as results"):
        results.missing(STUDY.jobs([0]))


@pytest.mark.parametrize("part", ["pages", "footer"])
def test_garbled_files_are_told_from_good_ones(results: Results, part: str) -> None:
    """A byte that changes in the pages never changes a number; one in the footer raises the one error or none."""
    jobs = STUDY.jobs(range(3))
    store(results, jobs)
    path, expected = path_of(results, STUDY), results.load(jobs)
    good, random, refused = path.read_bytes(), np.random.default_rng(0), 0
    footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    low, high = (0, footer) if part == "pages" else (footer, len(good))
    for _ in range(100):
        content = bytearray(good)
        for place in random.integers(low, high, size=random.integers(1, 4)):
            content[place] ^= 1 << random.integers(8)
        path.write_bytes(content)
        try:
            found = results.available(jobs)
        except FileFormatError:
            refused += 1
        else:
            assert part == "footer" or found.equals(expected)
    assert refused > 50


def test_two_processes_that_store_at_once_lose_nothing(results: Results, log: Path) -> None:
    halves = [range(20), range(20, 40)]
    adding = [joblib.delayed(add_one_by_one)(str(results.folder), str(log), half) for half in halves]
    processes = joblib.Parallel(2, backend="loky", batch_size=1)(adding)
    assert len({*processes, os.getpid()}) == 3
    jobs = study_of(log).jobs(range(40))
    assert results.missing(jobs) == []
    assert len(results.load(jobs)) == 2 * 40


def test_who_reads_while_another_writes_sees_one_whole_file(results: Results) -> None:
    """A file that is replaced in the middle of a read is not half the old one and half the new."""
    jobs = STUDY.jobs(range(40))
    frames = run_batch(jobs)
    results.add(frames[:1], STUDY)
    writer = threading.Thread(target=lambda: [results.add([frame], STUDY) for frame in frames])
    writer.start()
    seen = [len(jobs)]
    while writer.is_alive():
        seen.append(len(results.missing(jobs)))
    writer.join()
    assert seen == sorted(seen, reverse=True)
    assert results.missing(jobs) == []


# Running


def test_only_what_is_missing_is_run(results: Results, log: Path) -> None:
    jobs = study_of(log).jobs(range(6))
    store(results, jobs[:3])
    before = results.load(jobs[:3])
    told: list[tuple[float, int]] = []
    run_jobs(jobs, results, workers=2, progress=lambda done, total, text: told.append((done, total)))
    assert begun(log) == dict.fromkeys(range(6), 1)
    assert told == [(4, 6), (5, 6), (6, 6)]
    pd.testing.assert_frame_equal(results.load(jobs[:3]), before)  # with its seconds
    run_jobs(jobs, results, workers=2)
    assert begun(log) == dict.fromkeys(range(6), 1)
    # What workers computed is what this process computes.
    expected = pd.concat(run_batch(jobs), ignore_index=True)
    pd.testing.assert_frame_equal(by_seed(results.load(jobs)), by_seed(expected))


def test_a_device_runs_the_jobs_of_a_study_as_one_batch(results: Results, log: Path) -> None:
    """As on a GPU: a CPU by another name is a device."""
    jobs = [*study_of(log).jobs(range(3)), *STUDY.jobs(range(2))]
    told: list[float] = []
    run_jobs(jobs, results, device="cpu:0", progress=lambda done, total, text: told.append(done))
    assert begun(log) == dict.fromkeys(range(3), 1)
    assert told == sorted(told)
    assert told[-1] == 5
    assert 1.5 in told  # half of the first batch of three
    found = results.load(jobs)
    assert set(found["device"]) == {"cpu:0"}
    expected = pd.concat(run_batch(jobs[3:]), ignore_index=True)
    ours = found[found["model"] == "random"].assign(device="cpu")
    pd.testing.assert_frame_equal(by_seed(ours), by_seed(expected))


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_a_job_that_fails_does_not_stop_the_others(results: Results, log: Path, device: str) -> None:
    bad, good = study_of(log, fails_at=(1,)).jobs(range(3)), STUDY.jobs(range(3))
    with pytest.raises(HeadstartError) as caught:
        run_jobs([*bad, *good], results, workers=2, device=device)
    assert "unruly current seed 1: ArithmeticError: seed 1 is bad luck (line" in str(caught.value)
    assert "of unruly.py)" in str(caught.value)
    assert "1 of 6 jobs failed; the others are stored" in str(caught.value)
    assert results.missing([*bad, *good]) == [bad[1]]
    # It is not tried again, but for the halves of a batch that failed, down to the job that did it.
    assert begun(log) == ({0: 1, 1: 1, 2: 1} if device == "cpu" else {0: 2, 1: 3, 2: 3})


def test_many_failures_are_counted_and_the_first_shown(results: Results, log: Path) -> None:
    jobs = study_of(log, fails_at=tuple(range(8))).jobs(range(8))
    with pytest.raises(HeadstartError, match="8 of 8 jobs failed") as caught:
        run_jobs(jobs, results, workers=2)
    assert str(caught.value).count("bad luck") == 5


# joblib says so when it is left before the end, which is what this test does.
@pytest.mark.filterwarnings("ignore:.* tasks have been successfully executed:UserWarning")
def test_what_watches_a_run_may_stop_it(results: Results, log: Path) -> None:
    jobs = study_of(log).jobs(range(6))

    def stop(done: float, total: int, text: str) -> None:
        raise RuntimeError("the disk of the watcher is full")

    with pytest.raises(RuntimeError, match="the disk of the watcher is full"):
        run_jobs(jobs, results, workers=2, progress=stop)
    assert len(results.missing(jobs)) == 5  # what was finished is stored


def test_a_killed_run_continues_where_it_was(results: Results, log: Path) -> None:
    jobs = killed_jobs(log)
    script = [sys.executable, str(TESTS / "benchmark" / "unruly.py"), str(results.folder), str(log)]
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    run = subprocess.Popen(script, env={**os.environ, "PYTHONPATH": paths}, start_new_session=True)
    try:
        wait_for(lambda: run.poll() is not None or len(results.missing(jobs)) == 8)
        assert run.poll() is None  # the others wait at the gate
    finally:
        run.kill()
        run.wait()
        with contextlib.suppress(ProcessLookupError):  # its workers, which outlive it for a while
            os.killpg(run.pid, signal.SIGTERM)
    assert results.missing(jobs) == jobs[8:]
    before = results.load(jobs[:8])
    gate_of(log).touch()
    run_jobs(jobs, results, workers=2)
    assert all(begun(log)[seed] == 1 for seed in range(8))
    assert results.missing(jobs) == []
    pd.testing.assert_frame_equal(results.load(jobs[:8]), before)


def test_a_cluster_needs_ray(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    with pytest.raises(MissingExtraError, match=r"headstart\[ray\]"):
        run_jobs(STUDY.jobs([0]), results, ray="auto")


def test_settings_of_the_unruly_are_part_of_its_key(log: Path) -> None:
    """What these tests rely on: contenders of other settings are other jobs."""
    assert study_of(log).jobs([0])[0].key != study_of(log, waits_from=1).jobs([0])[0].key
    assert Unruly(log=str(log)).settings["kind"] == "Unruly"


# The pool is new after a death of a worker, so these tests come last.


def test_a_killed_worker_costs_its_job_one_more_try(results: Results, log: Path) -> None:
    jobs = study_of(log, dies_at=5).jobs(range(10))
    tries_when_stored: dict[int, int] = {}

    def watch(done: float, total: int, text: str) -> None:
        seed = int(text.split()[-1])
        tries_when_stored[seed] = begun(log)[seed]

    run_jobs(jobs, results, workers=2, progress=watch)
    assert results.missing(jobs) == []
    assert begun(log)[5] == 2
    assert begun(log) == tries_when_stored  # nothing was run again once it was stored
    expected = pd.concat(run_batch(jobs), ignore_index=True)
    pd.testing.assert_frame_equal(by_seed(results.load(jobs)), by_seed(expected))


def test_a_job_that_always_kills_its_worker_ends_the_run(results: Results, log: Path) -> None:
    jobs = study_of(log, dies_at=3, always_dies=True).jobs([3])
    with pytest.raises(HeadstartError, match="Workers died 3 times without finishing a job: TerminatedWorkerError"):
        run_jobs(jobs, results, workers=2)
    assert begun(log) == {3: 3}
