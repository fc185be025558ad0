"""Other systems on the same trials, each a small adapter over the library itself (extra `peers`).

| peer | what it is |
| --- | --- |
| `MultiTask` | BoTorch's `MultiTaskGP` |
| `SaasMultiTask` | BoTorch's `SaasFullyBayesianMultiTaskGP`, sampled by NUTS |
| `BayBE` | BayBE with a task parameter, and its own recommender |
| `RankedEnsemble` | RGPE: GPs of all tasks, weighted by how well they rank the current rows |
| `LegacyCombination` | the current task as a linear combination of legacy models |
| `PooledGP` | one GP of all rows, blind to tasks |
| `Forest` | scikit-learn's random forest, the task a category |

A GP without legacy rows and random choice are in `contenders`, as is EGP, which is a point latent-variable GP (LVGP).
"""

from headstart.benchmark.peers.baybe import BayBE
from headstart.benchmark.peers.combination import LegacyCombination
from headstart.benchmark.peers.forest import Forest
from headstart.benchmark.peers.multitask import MultiTask, SaasMultiTask
from headstart.benchmark.peers.pooled import PooledGP
from headstart.benchmark.peers.ranked import RankedEnsemble

__all__ = ["BayBE", "Forest", "LegacyCombination", "MultiTask", "PooledGP", "RankedEnsemble", "SaasMultiTask"]
