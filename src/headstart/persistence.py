"""Saved files: named tensors and a JSON header in one safetensors file.

Loading one reads numbers and text and never runs code. The header carries the format's version: an older format is
read, a newer one refused with a word about what to do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headstart.errors import FileFormatError

FORMAT = 1
_KEY = "headstart"


def write_file(path: str | Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> None:
    """Write a file as a whole or not at all: a crash in the middle leaves what was there before."""
    from safetensors.torch import save_file

    target = Path(path)
    if not target.parent.is_dir():
        raise FileFormatError(f"Cannot save to {target}: the folder {target.parent} does not exist.")
    metadata = {_KEY: json.dumps({"format": FORMAT, **header})}
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        contiguous = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
        save_file(contiguous, temporary, metadata=metadata)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def read_file(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the header of a file, or a `FileFormatError` that says what is wrong with it."""
    from safetensors import SafetensorError, safe_open

    source = Path(path)
    if not source.is_file():
        raise FileFormatError(f"There is no file {source}.")
    try:
        with safe_open(source, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(metadata[_KEY])
        version = int(header["format"])
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"{source} is not a saved surrogate, or is damaged ({error}). Save it again from a fit."
        ) from error
    if version > FORMAT:
        raise FileFormatError(
            f"{source} has format {version}, this Headstart reads up to {FORMAT}: "
            "upgrade with pip install --upgrade headstart."
        )
    if not all(torch.isfinite(value).all() for value in tensors.values()):
        raise FileFormatError(f"{source} holds NaN or infinity: it is damaged. Save it again from a fit.")
    return tensors, header
