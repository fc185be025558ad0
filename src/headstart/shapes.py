"""Shapes in signatures: `Float[Tensor, "s n d"]`, as jaxtyping writes them and the tests check them.

jaxtyping is for reading and testing only: where it is not installed, the annotations mean nothing and all else works.
"""

from __future__ import annotations

try:
    from jaxtyping import Bool, Float, Int
except ImportError:  # pragma: no cover - covered by a test in a process of its own
    Bool = Float = Int = None  # type: ignore[assignment]

__all__ = ["Bool", "Float", "Int"]
