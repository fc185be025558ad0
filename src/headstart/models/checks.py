"""Training tensors as the models want them, or an error that names row, column and fix."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from headstart.errors import DataError, ProblemError


def training_tensors(
    X: Tensor, Y: Tensor, Yvar: Tensor | None, device: str | torch.device | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """`n x d` rows, `n x 1` outputs and variances in float64 on the device."""
    if X.dim() != 2 or len(X) == 0:
        raise DataError(
            f"train_X has shape {tuple(X.shape)}: expected n x d with at least one row. "
            "A model without any data has nothing to learn from."
        )
    X = X.to(device or X.device, torch.float64)
    columns = [("train_X", X), ("train_Y", _column("train_Y", Y, X))]
    if Yvar is not None:
        columns.append(("train_Yvar", _column("train_Yvar", Yvar, X)))
    for name, values in columns:
        bad = ~torch.isfinite(values)
        if bad.any():
            row, column = bad.nonzero()[0].tolist()
            raise DataError(
                f"{name} holds {float(values[row, column])} in row {row}, column {column}: "
                "leave such rows out or fill the gap."
            )
    if Yvar is not None and (columns[2][1] < 0).any():
        row = int((columns[2][1] < 0).nonzero()[0, 0])
        raise DataError(f"train_Yvar is negative in row {row}: variances are at least 0.")
    return X, columns[1][1], columns[2][1] if Yvar is not None else None


def _column(name: str, values: Tensor, X: Tensor) -> Tensor:
    column = values.unsqueeze(-1) if values.dim() == 1 else values
    if column.shape != (len(X), 1):
        raise DataError(
            f"{name} has shape {tuple(values.shape)}: expected {len(X)} x 1, one value a row of train_X. "
            "For several outputs fit one model each and join them in a ModelListGP."
        )
    return column.to(X)


def prediction_points(X: Tensor, rows: Tensor) -> Tensor:
    """`batch_shape x q x d` points to predict at, on the device and in the type of the training rows."""
    if X.dim() < 2 or X.shape[-1] != rows.shape[-1] or X.shape[-2] == 0:
        raise DataError(
            f"X has shape {tuple(X.shape)}: expected batch_shape x q x {rows.shape[-1]} with at least one point."
        )
    X = X.to(rows)
    if not torch.isfinite(X).all():
        raise DataError("X holds NaN or infinity: predictions need finite inputs.")
    return X


def general_columns(general: Mapping[int, int], width: int) -> dict[int, int]:
    """Column -> the key it was given by (columns may count from the end), in column order."""
    if not general:
        raise ProblemError(
            "No general input: `general` maps at least one column of level codes to its number of levels. "
            "For data of one task alone use BoTorch's SingleTaskGP."
        )
    columns: dict[int, int] = {}
    for given, levels in general.items():
        if not -width <= given < width:
            raise ProblemError(f"General column {given} does not exist: train_X has {width} columns.")
        if given % width in columns:
            raise ProblemError(f"General column {given % width} is named twice.")
        if levels < 1:
            raise ProblemError(f"General column {given} has {levels} levels: expected at least 1.")
        columns[given % width] = given
    return dict(sorted(columns.items()))


def checked_noise(noise: bool | Tensor, X: Tensor) -> bool | Tensor:
    """Noise variances of `batch_shape x q x 1`, or what broadcasts to it, as `batch x 1 x q`."""
    if not isinstance(noise, Tensor):
        return noise
    try:
        rows = noise.squeeze(-1).broadcast_to(X.shape[:-1])
    except RuntimeError:
        raise DataError(
            f"observation_noise has shape {tuple(noise.shape)}: expected {(*X.shape[:-1], 1)}, one variance a point."
        ) from None
    if (rows < 0).any():
        raise DataError("observation_noise holds negative variances.")
    return rows.to(X.device, torch.float64).reshape(-1, 1, X.shape[-2])


def checked_bounds(bounds: Tensor | None, X: Tensor, numeric: list[int]) -> Tensor | None:
    """`2 x d` bounds whose numeric columns are finite and the right way round."""
    if bounds is None:
        return None
    if bounds.shape != (2, X.shape[-1]):
        raise ProblemError(f"bounds has shape {tuple(bounds.shape)}: expected 2 x {X.shape[-1]}, low and high.")
    bounds = bounds.to(X)
    for column in numeric:
        low, high = bounds[:, column].tolist()
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ProblemError(f"bounds of column {column} are {low} and {high}: the lower must be below the upper.")
    return bounds


def latent_dims(latent_dim: int | Mapping[int, int], given: Mapping[int, int]) -> tuple[int, ...]:
    """The latent dimension of each general column, from one number for all or column -> number."""
    if not isinstance(latent_dim, Mapping):
        dims = (int(latent_dim),) * len(given)
    else:
        missing = [key for key in given.values() if key not in latent_dim]
        if missing:
            raise ProblemError(f"latent_dim says nothing of general column {missing[0]}: give it a dimension.")
        dims = tuple(int(latent_dim[key]) for key in given.values())
    if min(dims) < 1:
        raise ProblemError(f"latent_dim is {min(dims)}: it must be at least 1.")
    return dims
