"""WHAT TO TRY: how promising a point is, and where the most promising one lies.

    criteria    expected improvement, and the best mean of a task without data
    candidates  of a finite set: the expected gain, the probability of being best (eq. prob-best), Thompson sampling
    space       of continuous and stepped inputs: the best point, by gradient and local search from many starts
    choice      a batch of experiments, each knowing of the others and of those that are running

Everything maximises. The paper handles the noise of sampled latents by stochastic backpropagation; here the draws of Z
are fixed once (common random numbers), so a criterion is a smooth deterministic function and L-BFGS-B may climb it.
"""

from headstart.acquisition.candidates import chance_of_best, joint_samples
from headstart.acquisition.choice import Choice, check_acquisition, choose_from_candidates, choose_from_space
from headstart.acquisition.space import Space

__all__ = [
    "Choice",
    "Space",
    "chance_of_best",
    "check_acquisition",
    "choose_from_candidates",
    "choose_from_space",
    "joint_samples",
]
