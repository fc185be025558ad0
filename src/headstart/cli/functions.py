"""A function by its name: MODULE:FUNCTION or FILE.py:FUNCTION."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from headstart.errors import ProblemError, did_you_mean


def load_function(name: str) -> Callable[..., Any]:
    """The function, from a module that Python finds from here or from a file.

    >>> load_function("math:sqrt")(9.0)
    3.0
    """
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise ProblemError(f"{name!r} names no function: write MODULE:FUNCTION or FILE.py:FUNCTION.")
    module = _from_file(Path(place)) if place.endswith(".py") else _from_module(place)
    function = getattr(module, attribute, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise ProblemError(f"{place} has no function {attribute!r}.{did_you_mean(attribute, known)}")
    return function


def _from_module(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ProblemError(
            f"There is no module {error.name!r} to import. Write FILE.py:FUNCTION for a file."
        ) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ProblemError(f"There is no file {path}.")
    sys.path.insert(0, str(path.parent.resolve()))  # its own imports, as if it were run
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ProblemError(f"{path} cannot be imported as Python.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ProblemError(f"{path} is not Python: {error.msg} in line {error.lineno}.") from error
    return module
