"""Workers that ask and tell, each killed at a random moment. Prints what they were told is stored.

Run as a program, `python killed_workers.py STORE KILLS SEED`: everything is imported once, and each worker is a fork,
so that hundreds of kills take a minute.
"""

import json
import os
import random
import signal
import sys
import time
from typing import TextIO

import numpy as np
import pandas as pd
import torch

import headstart as hs

PROBLEM = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal="minimize")
CANDIDATES = pd.DataFrame({"x": np.linspace(0, 1, 200)})
WORKERS_A_CAMPAIGN = 10  # few rows and a point embedding, so that fits are quick and many kills hit a write


def work(store: str, name: str, worker: int, pipe: int) -> None:
    """Ask and tell until killed. A line in the pipe is an acknowledgement: what it names must be stored."""
    campaign = hs.Campaign.open(name, store=store)
    chance = random.Random(worker)
    for step in range(10_000):
        outcome = worker + step / 10_000  # no other has it
        if chance.random() < 0.3:
            asked = campaign.suggest({"task": "new"}, candidates=CANDIDATES)
            suggestion = int(asked["suggestion"].item())
            os.write(pipe, f"asked {suggestion}\n".encode())
            campaign.observe(outcome, suggestion=suggestion)
        else:
            campaign.observe({"task": "new", "x": chance.random(), "y": outcome})
        os.write(pipe, f"told {outcome!r}\n".encode())


def main(store: str, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    legacy = pd.DataFrame({"task": ["a", "a", "b", "b"], "x": [0.1, 0.6, 0.3, 0.9], "y": [0.5, 0.1, 0.4, 0.2]})
    acknowledged = []
    torch.set_num_threads(1)  # threads do not survive a fork
    hs.fit(legacy, PROBLEM, model="egp").suggest({"task": "new"}, candidates=CANDIDATES)  # imports all there is
    for first in range(0, kills, 2):
        name = f"campaign {first // WORKERS_A_CAMPAIGN}"
        if first % WORKERS_A_CAMPAIGN == 0:
            hs.Campaign.create(name, legacy, PROBLEM, store=store, model="egp", latent_dim=1)
        # Two at a time, so that a kill also meets a lock that the other waits for.
        for worker, lines in [start(store, name, first), start(store, name, first + 1)]:
            with lines:
                # After some steps, at a moment of the next: a slow machine is killed at the same points as a fast one.
                received = [lines.readline() for _ in range(chance.randrange(5))]
                time.sleep(chance.random() * 0.1)
                os.kill(worker, signal.SIGKILL)
                received += lines.readlines()
            _, status = os.waitpid(worker, 0)
            assert os.WIFSIGNALED(status), f"a worker of {name} ended by itself"
            acknowledged += [[name, *line.split()] for line in received if line.endswith("\n")]
    print(json.dumps(acknowledged))


def start(store: str, name: str, worker: int) -> tuple[int, TextIO]:
    """A worker in a process of its own, and what it acknowledges."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(store, name, worker, writing)
        finally:
            os._exit(1)
    os.close(writing)
    return child, os.fdopen(reading)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
