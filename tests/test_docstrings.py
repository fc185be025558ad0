"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import headstart

# Migrations and `__main__` are programs, not modules: importing them runs them.
MODULES = [
    "headstart",
    *(
        m.name
        for m in pkgutil.walk_packages(headstart.__path__, "headstart.")
        if ".migrations." not in m.name and not m.name.endswith("__main__")
    ),
]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples(name: str) -> list[doctest.DocTest]:
    return doctest.DocTestFinder().find(importlib.import_module(name), name)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for example in examples(name):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_examples_are_found_behind_the_import_hook() -> None:
    name = "headstart.benchmark.datasets"
    assert f"{name}.load" in [example.name for example in examples(name) if example.examples]
