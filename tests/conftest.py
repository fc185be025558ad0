"""Settings of the whole test run."""

import os

from jaxtyping import install_import_hook

# Shapes in signatures are checked in the tests alone, where arrays are. The hook rewrites modules as they are
# imported, so it must come before the first import of headstart.
ARRAYS = ("tasks", "models", "acquisition", "surrogate", "validation", "loop", "persistence", "benchmark")
install_import_hook([f"headstart.{name}" for name in ARRAYS], "beartype.beartype")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

# Processes that run tests side by side (`-n auto`) have one core each.
torch.set_num_threads(1 if "PYTEST_XDIST_WORKER" in os.environ else min(2, torch.get_num_threads()))


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    """A test's random numbers do not depend on which tests ran before it."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - for libraries that still draw from NumPy's global state
