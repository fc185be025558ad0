"""Level codes and the positions their latents have in a model's tables."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.errors import DataError
from headstart.shapes import Int

# Draws of the prior are made for every position up to the largest one asked for.
_LARGEST_CODE = 100_000


@dataclass(frozen=True)
class LevelTable:
    """The levels of one general input that have data, in order of first appearance.

    Seen levels come first, in that order, then all other codes, ascending. Positions therefore do not depend on how
    the levels are numbered: renumbering them changes no prediction.

    >>> table = LevelTable.of(torch.tensor([7, 2, 7]))
    >>> table.seen, table.positions(torch.tensor([2, 7, 0, 8])).tolist()
    ((7, 2), [1, 0, 2, 8])
    """

    seen: tuple[int, ...]

    @classmethod
    def of(cls, codes: Int[Tensor, " n"]) -> LevelTable:
        """From the codes of the training rows."""
        return cls(tuple(dict.fromkeys(codes.tolist())))

    def positions(self, codes: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
        """The position of every code, seen or not."""
        seen = torch.tensor(self.seen, dtype=codes.dtype, device=codes.device)
        ascending, order = seen.sort()
        rank = torch.searchsorted(ascending, codes)
        nearest = rank.clamp_max(len(seen) - 1)
        # Among the unseen codes, a code's rank is itself less the seen codes below it.
        unseen = len(seen) + codes - rank
        return torch.where(ascending[nearest] == codes, order[nearest], unseen)


def level_codes(X: Tensor, column: int) -> Int[Tensor, " n"]:
    """A general column as integer codes, or an error that names the row."""
    values = X[:, column]
    codes = values.round().long()
    bad = (values - codes).abs().gt(1e-6) | codes.lt(0) | codes.gt(_LARGEST_CODE)
    if bad.any():
        row = int(bad.nonzero()[0])
        raise DataError(
            f"Row {row}, column {column} holds {float(values[row])!r}, which is no level code: general columns hold "
            f"whole numbers from 0 to {_LARGEST_CODE}."
        )
    return codes
