"""Saved files: named tensors and a JSON header in one safetensors file.

Loading one reads numbers and text and never runs code. The header carries the format's version: an older format is
read, a newer one refused with a word about what to do.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from headstart.errors import FileFormatError
from headstart.writing import write_whole

FORMAT = 3
_KEY = "headstart"


def to_bytes(tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> bytes:
    """The content of a file."""
    from safetensors.torch import save

    contiguous = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    whole = {"format": FORMAT, **header, "checksum": checksum(contiguous)}
    return bytes(save(contiguous, metadata={_KEY: json.dumps(whole)}))


def from_bytes(content: bytes, source: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the header of a file, or a `FileFormatError` that says what is wrong with it."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(content)
        # A safetensors file begins with the length of a JSON header, which holds ours.
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][_KEY])
        version = int(header["format"])
    except (SafetensorError, KeyError, TypeError, ValueError, struct.error) as error:
        raise FileFormatError(
            f"{source} is not a saved surrogate, or is damaged. Give a file that Surrogate.save wrote."
        ) from error
    if version > FORMAT:
        raise FileFormatError(
            f"{source} has format {version}, this Headstart reads up to {FORMAT}: "
            "upgrade with pip install --upgrade headstart."
        )
    if header.get("checksum") != checksum(tensors):
        raise FileFormatError(f"{source} is damaged: its numbers are not those that were saved. Save it again.")
    return tensors, header


def write_file(path: str | Path, content: bytes) -> None:
    """Write a file, or a `FileFormatError`."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise FileFormatError(f"Cannot save to {path}: {error.strerror}.") from error


def read_file(path: str | Path) -> bytes:
    """The content of a file, or a `FileFormatError`."""
    source = Path(path)
    if not source.is_file():
        raise FileFormatError(f"{source} is a folder." if source.is_dir() else f"There is no file {source}.")
    try:
        return source.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{source} cannot be read: {error.strerror}.") from error


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """Of names and numbers, whatever their order."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].numpy().tobytes())
    return digest.hexdigest()
