"""Every way to choose works on a GPU, and chooses as the CPU does."""

import pytest
import torch
from test_suggest import NEW, archive

import headstart as hs

pytestmark = pytest.mark.gpu

POINT = [{"blades": 6, "flow": 0.5}]
WAYS = {
    "one": {},
    "batch": {"n": 3},
    "thompson": {"acquisition": "thompson", "n": 2},
    "fixed": {"fixed": {"flow": 0.5}},
    "avoid": {"avoid": POINT},
    "pending": {"pending": POINT},
    "candidates": {"candidates": archive()[["blades", "flow"]].head(20), "n": 2},
}


@pytest.fixture(scope="module", params=[{}, {"flow": (0, 1, 0.25)}], ids=["mixed", "lattice"])
def both(request) -> list[hs.Surrogate]:
    assert torch.cuda.is_available()
    inputs = {"blades": (4, 9, 1), "flow": (0, 1), **request.param}
    problem = hs.Problem(inputs=inputs, general=["pump"], objective="efficiency")
    return [hs.fit(archive(), problem, seed=0, device=device) for device in ("cpu", "cuda")]


@pytest.mark.parametrize("way", WAYS)
def test_the_gpu_chooses_as_well(both, way):
    on_cpu, on_gpu = (surrogate.suggest(NEW, **WAYS[way]) for surrogate in both)
    assert (on_cpu["score"] - on_gpu["score"]).abs().max() < 0.02


def test_a_stored_surrogate_moves_between_devices(both):
    moved = hs.Surrogate.from_bytes(both[1].to_bytes())
    assert moved.model.train_X.device.type == "cpu"
    expected = both[1].predict(archive())["mean"]
    assert (moved.predict(archive())["mean"] - expected).abs().max() < 1e-6
