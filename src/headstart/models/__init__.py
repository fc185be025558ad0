"""WHAT WE BELIEVE: the paper's models as BoTorch models.

| file | holds |
| --- | --- |
| embedding, draws | q(Z) of each general input, and the fixed draws it is averaged with |
| kernels, marginal_likelihood | k([x, z], [x', z']) and log p(y given Z), with closed-form gradients |
| elbo, inference | the training objective, and how it is maximised |
| ensemble, moments | the posterior, one exact GP a draw of Z, and its Gaussian |
| begp | BEGP and EGP |
| mixture, alone | predictions and their scores, and a GP without legacy data to compare them with |
| bgp, nuts | the paper's baseline, and the gold standard |
"""

from headstart.models.begp import BEGP, EGP
from headstart.models.bgp import BGP
from headstart.models.inference import HMC, LBFGS, NUTS, Adam

__all__ = ["BEGP", "BGP", "EGP", "HMC", "LBFGS", "NUTS", "Adam"]
