"""A fitted model as tensors and JSON-able settings, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from headstart.errors import ProblemError
from headstart.models.begp import BEGP, EGP
from headstart.models.embedding import FullCovarianceEmbedding, MeanFieldEmbedding, PointEmbedding
from headstart.models.inference import HMC
from headstart.models.known_kernels import has_name

_KINDS: dict[str, type[BEGP]] = {"begp": BEGP, "egp": EGP}
_EMBEDDINGS = (PointEmbedding, MeanFieldEmbedding, FullCovarianceEmbedding)
_TENSORS = ("train_X", "train_Y", "train_Yvar", "bounds", "vector", "solution")


def model_class(name: str) -> type[BEGP]:
    """BEGP or EGP, by name."""
    if name not in _KINDS:
        raise ProblemError(f"Unknown model {name!r}: choose one of {sorted(_KINDS)}.")
    return _KINDS[name]


def model_state(model: BEGP) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Everything needed to rebuild a fitted model without fitting."""
    kernel, embedding = model.structure.kernel, model.variational_family
    if not has_name(kernel) or type(embedding) not in _EMBEDDINGS:
        raise ProblemError(
            "A model with a custom kernel or embedding cannot be saved: the file would have to hold code. "
            "Save the data and fit again."
        )
    tensors = {name: getattr(model, name) for name in _TENSORS}
    settings = {
        "kind": "egp" if isinstance(model, EGP) else "begp",
        "general": [[column, levels] for column, levels in model.general.items()],
        "kernel": kernel.name,
        "embedding": embedding.name,
        "latent_dims": list(model.structure.latent_dims),
        "posterior_draws": model.variational_draws,
        "seed": model.seed,
        "elbo": model.elbo,
        "sampler": None if model.sampler is None else asdict(model.sampler),
    }
    return {name: value for name, value in tensors.items() if value is not None}, settings


def model_from_state(
    tensors: Mapping[str, Tensor],
    settings: Mapping[str, Any],
    *,
    device: str | torch.device = "cpu",
) -> BEGP:
    """The model that `model_state` described."""
    general = {int(column): int(levels) for column, levels in settings["general"]}
    model = model_class(settings["kind"])(
        tensors["train_X"],
        tensors["train_Y"],
        general,
        train_Yvar=tensors.get("train_Yvar"),
        latent_dim=dict(zip(general, settings["latent_dims"], strict=True)),
        kernel=settings["kernel"],
        embedding=settings["embedding"],
        bounds=tensors.get("bounds"),
        posterior_draws=settings["posterior_draws"],
        device=device,
    )
    model.seed, model.elbo = settings["seed"], settings["elbo"]
    model.adopt(tensors["vector"])
    if settings.get("sampler") is not None:  # files of format 1 have none
        model.solution, model.sampler = tensors["solution"].to(model.train_X), HMC(**settings["sampler"])
    return model
