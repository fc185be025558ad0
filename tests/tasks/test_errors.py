"""One exception tree, whose members are also what Python programmers expect to catch."""

import pickle

import pytest

from headstart import errors
from headstart.errors import HeadstartError, MissingExtraError, did_you_mean


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.DataError, ValueError),
        (errors.ProblemError, ValueError),
        (errors.ModelError, RuntimeError),
        (errors.NotFittedError, errors.ModelError),
        (errors.FileFormatError, ValueError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_tree(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, HeadstartError)
    assert issubclass(error, builtin)
    assert error.__doc__.startswith("Raised when")


def test_missing_extra_says_what_to_install_and_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(MissingExtraError("NUTS", extra="nuts")))
    assert 'pip install "headstart[nuts]"' in str(error)
    assert (error.feature, error.extra) == ("NUTS", "nuts")


def test_did_you_mean_ignores_case_and_surrounding_blanks() -> None:
    assert did_you_mean("YIELD", [" yield", "flow"]) == " Did you mean ' yield'?"
    assert did_you_mean("0", [0, 1]) == " Did you mean 0?"
    assert did_you_mean("yield", []) == ""
