"""WHAT TO TRY: how promising a point is, and where the most promising one lies.

    criteria    expected improvement, and the best mean of a task without data
    space       the best point of a box, by gradient from many starts
    candidates  the best of a finite set, by the probability of being best (eq. prob-best)

Everything maximises. The paper handles the noise of sampled latents by stochastic backpropagation; here the draws of Z
are fixed once (common random numbers), so a criterion is a smooth deterministic function and L-BFGS-B may climb it.
"""

from headstart.acquisition.candidates import probability_of_best
from headstart.acquisition.criteria import Criterion, criterion_for
from headstart.acquisition.space import maximise_over_box

__all__ = ["Criterion", "criterion_for", "maximise_over_box", "probability_of_best"]
