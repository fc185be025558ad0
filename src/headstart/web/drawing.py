"""Pictures as SVG files, for those without scripts and for keeping."""

from __future__ import annotations

from typing import Any

from headstart.errors import NotFoundError


def draw(kind: str, summary: dict[str, Any], *, pair: int = 0) -> bytes:
    """The picture that a summary is of; of surfaces one pair of inputs."""
    from headstart.report import as_svg, figures, trust_figure  # brings matplotlib, which reading does not need

    if kind == "surfaces":
        if not 0 <= pair < len(summary["pairs"]):
            raise NotFoundError(f"There is no pair {pair}; there are {len(summary['pairs'])}.")
        summary = {**summary, "pairs": [summary["pairs"][pair]]}
        return as_svg(figures.surface(summary)).encode()
    drawn = trust_figure(summary) if kind == "trust" else getattr(figures, kind)(summary)
    return as_svg(drawn).encode()
