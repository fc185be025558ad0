"""Files are written as a whole or not at all: a crash in the middle leaves what was there before."""

from __future__ import annotations

import os
from contextlib import suppress
from os import PathLike
from pathlib import Path


def write_whole(path: str | PathLike[str], content: bytes) -> None:
    """Write a file beside its place, make sure that it is on the disk, and move it there."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
