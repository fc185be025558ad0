"""Jobs on a real Ray cluster of two nodes, one of which is lost in the middle of a run."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import ray
from benchmark.unruly import begun, gate_of, parents, study_of, wait_for
from ray.cluster_utils import Cluster

from headstart.benchmark.execution import run_jobs
from headstart.benchmark.jobs import run_batch
from headstart.benchmark.results import Results

# Ray starts its programs by fork and exec, which is safe whatever threads JAX has.
pytestmark = pytest.mark.filterwarnings(r"ignore:os.fork\(\) was called:RuntimeWarning")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator:
    # Workers import the tests' contender as this process does.
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    )
    quickly = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 2}
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": quickly}
    )
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_lost_node_costs_time_and_no_result(cluster, tmp_path: Path) -> None:
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    log, results = tmp_path / "log", Results(tmp_path / "results")
    jobs = study_of(log, waits_from=8).jobs(range(16))  # on two processors, two waves of eight
    stored_when_lost: list[int] = []
    nodes: list[dict[int, int]] = []

    def lose_a_node() -> None:
        wait_for(lambda: sum(begun(log).values()) == 10)  # two jobs of the second wave are at the gate
        nodes.append(parents(log))
        missing = results.missing(jobs)
        stored_when_lost.extend(job.seed for job in jobs if job not in missing)
        cluster.remove_node(second, allow_graceful=False)
        # A worker outlives its node for a moment and would finish what it has. While both wait at the gate, another
        # job can only begin where the run has noticed the loss and started anew.
        wait_for(lambda: sum(begun(log).values()) > 10)
        gate_of(log).touch()

    loss = threading.Thread(target=lose_a_node, daemon=True)
    loss.start()
    told: list[float] = []
    run_jobs(jobs, results, ray=cluster.address, progress=lambda done, total, text: told.append(done))
    loss.join(timeout=600)
    assert not loss.is_alive()
    assert results.missing(jobs) == []
    assert stored_when_lost == [*range(8)]
    assert nodes[0][8] != nodes[0][9]  # workers are spread over the cluster
    tries = begun(log)
    assert all(tries[seed] == 1 for seed in range(8))
    assert tries[8] > 1  # what was running when the node was lost was run again
    assert tries[9] > 1
    assert told[-1] == 16
    local = pd.concat(run_batch(jobs), ignore_index=True).drop(columns="seconds")
    found = results.load(jobs).drop(columns="seconds").sort_values(["seed", "evaluation"], ignore_index=True)
    pd.testing.assert_frame_equal(found, local)
