"""Saved files: named tensors and a JSON header in one safetensors file.

Loading one reads numbers and text and never runs code. The header carries the format's version: an older format is
read, a newer one refused with a word about what to do.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import Tensor

from headstart.errors import FileFormatError

FORMAT = 1
_KEY = "headstart"


def write_file(path: str | Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> None:
    """Write a file as a whole or not at all: a crash in the middle leaves what was there before."""
    from safetensors.torch import save

    target = Path(path)
    contiguous = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    whole = {"format": FORMAT, **header, "checksum": _checksum(contiguous)}
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(save(contiguous, metadata={_KEY: json.dumps(whole)}))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise FileFormatError(f"Cannot save to {target}: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def read_file(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the header of a file, or a `FileFormatError` that says what is wrong with it."""
    from safetensors import SafetensorError, safe_open

    source = Path(path)
    if not source.is_file():
        raise FileFormatError(f"{source} is a folder." if source.is_dir() else f"There is no file {source}.")
    try:
        with safe_open(source, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(metadata[_KEY])
        version = int(header["format"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"{source} is not a saved surrogate, or is damaged. Give a file that Surrogate.save wrote."
        ) from error
    if version > FORMAT:
        raise FileFormatError(
            f"{source} has format {version}, this Headstart reads up to {FORMAT}: "
            "upgrade with pip install --upgrade headstart."
        )
    if header.get("checksum") != _checksum(tensors):
        raise FileFormatError(f"{source} is damaged: its numbers are not those that were saved. Save it again.")
    return tensors, header


def _checksum(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].numpy().tobytes())
    return digest.hexdigest()
