"""Figures as SVG text, the same bytes for the same figure, and as files."""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

from matplotlib.figure import Figure

from headstart.errors import FileFormatError
from headstart.persistence import write_file

_FORMATS = (".png", ".svg", ".pdf")
_NOT_NEEDED = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_ID = re.compile(r' id="([^"]*)"')
_REFERENCE = re.compile(r'(?<=url\(#)[^)]+|(?<=href="#)[^"]+')
_BLANKS = re.compile(r"\s*\n\s*")


def as_svg(figure: Figure) -> str:
    """The figure as one `<svg>` element, for a file or inside of a page; its label is what a screen reader says.

    Letters are drawn as paths, so it looks the same where a font is missing. Names inside are numbered, after a digest
    of the figure: several figures can stand in one page, and the same figure gives the same text. (matplotlib's own way
    to that is a global setting.)
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", facecolor=figure.get_facecolor(), metadata={"Date": None})
    drawn = buffer.getvalue()
    drawn = _NOT_NEEDED.sub("", drawn[drawn.index("<svg") :])
    drawn = _BLANKS.sub("\n", drawn).strip()
    used = set(_REFERENCE.findall(drawn))
    names = {old: f"@{number}" for number, old in enumerate(old for old in _ID.findall(drawn) if old in used)}
    drawn = _ID.sub(lambda match: f' id="{names[match[1]]}"' if match[1] in names else "", drawn)
    drawn = _REFERENCE.sub(lambda match: names[match[0]], drawn)
    label = str(figure.get_label())
    digest = hashlib.sha256((label + drawn).encode()).hexdigest()[:8]
    drawn = drawn.replace('id="@', f'id="f{digest}-').replace("#@", f"#f{digest}-")
    style = "stroke-linejoin: round; stroke-linecap: butt"
    return drawn.replace("<svg", f'<svg role="img" aria-label={quoteattr(label)} style="{style}"', 1) + "\n"


def check_figure(path: str | Path) -> None:
    """Refuse a file that no figure can be written to: of an unknown kind, or in a folder that does not exist."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise FileFormatError(f"{path} must end in {', '.join(_FORMATS)} to say which kind of figure it is.")
    if not Path(path).parent.is_dir():
        raise FileFormatError(
            f"Cannot save to {path}: there is no folder {Path(path).parent}. Make it, or give another."
        )


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as .png, .svg or .pdf, whole or not at all."""
    check_figure(path)
    suffix = Path(path).suffix.lower()
    if suffix == ".svg":
        write_file(path, as_svg(figure).encode())
        return
    buffer = io.BytesIO()
    undated = {"CreationDate": None} if suffix == ".pdf" else {}
    figure.savefig(buffer, format=suffix[1:], dpi=200, facecolor=figure.get_facecolor(), metadata=undated)
    write_file(path, buffer.getvalue())
