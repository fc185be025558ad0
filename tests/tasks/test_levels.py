"""Codes follow first appearance and nothing else."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError, FileFormatError, ProblemError
from headstart.tasks import Levels, Problem

PROBLEM = Problem(inputs=["x"], general=["machine", "alloy"], objective="y")

texts = st.text().filter(str.strip)
pairs = st.lists(st.tuples(texts, texts))


def frame(rows: list[tuple[str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(PROBLEM.general), dtype=object)


@given(pairs)
def test_codes_are_places_in_order_of_first_appearance(rows: list[tuple[str, str]]) -> None:
    codes, levels = Levels.none(PROBLEM).encode(frame(rows))
    assert codes.shape == (len(rows), 2)
    assert codes.dtype == np.int64
    for column, name in enumerate(PROBLEM.general):
        cells = [row[column] for row in rows]
        assert levels[name] == tuple(dict.fromkeys(cells))
        assert [levels[name][code] for code in codes[:, column]] == cells
    assert levels.sizes == tuple(len(known) for known in levels.labels)


@given(pairs, st.randoms(use_true_random=False))
def test_renaming_labels_changes_nothing(rows: list[tuple[str, str]], random) -> None:
    names = sorted({cell for row in rows for cell in row})
    shuffled = random.sample(names, len(names))
    rename = dict(zip(names, shuffled, strict=True))
    renamed = [(rename[machine], rename[alloy]) for machine, alloy in rows]
    codes, _ = Levels.none(PROBLEM).encode(frame(rows))
    same, _ = Levels.none(PROBLEM).encode(frame(renamed))
    np.testing.assert_array_equal(codes, same)


@given(pairs, pairs)
def test_extending_keeps_old_codes_and_equals_encoding_at_once(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    old_codes, old = Levels.none(PROBLEM).encode(frame(before))
    new_codes, new = old.encode(frame(after))
    codes, levels = Levels.none(PROBLEM).encode(frame(before + after))
    np.testing.assert_array_equal(np.concatenate([old_codes, new_codes]), codes)
    assert new == levels
    assert new.encode(frame(before))[1] == new


@given(pairs)
def test_round_trips(rows: list[tuple[str, str]]) -> None:
    _, levels = Levels.none(PROBLEM).encode(frame(rows))
    assert Levels.from_dict(json.loads(json.dumps(levels.to_dict()))) == levels
    assert len({levels, Levels.from_dict(levels.to_dict())}) == 1


def test_text_and_numbers_that_read_alike_are_one_label() -> None:
    table = {"machine": pd.Series([1, "1", 2.0, "2"], dtype=object), "alloy": [1, 1, 2, 2]}
    codes, levels = Levels.none(PROBLEM).encode(table)
    assert codes.tolist() == [[0, 0], [0, 0], [1, 1], [1, 1]]
    assert levels.labels == (("1", "2"), ("1", "2"))


def test_integers_that_became_floats_keep_their_codes() -> None:
    _, levels = Levels.none(PROBLEM).encode({"machine": [7, 3], "alloy": [True, False]})
    codes, same = levels.encode({"machine": [3.0, 7.0], "alloy": [False, True]})
    assert codes.tolist() == [[1, 1], [0, 0]]
    assert same == levels


def test_errors_name_what_is_wrong() -> None:
    levels = Levels.none(PROBLEM)
    with pytest.raises(ProblemError, match=r"'alloys' is not .* Did you mean 'alloy'"):
        levels["alloys"]
    with pytest.raises(DataError, match="no column 'alloy'"):
        levels.encode({"machine": ["a"]})


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"general": ["a"]},
        {"general": ["a"], "labels": 3},
        {"general": ["a"], "labels": [1]},
        {"general": ["a", "b"], "labels": [["x"]]},
    ],
)
def test_damaged_levels(stored: dict) -> None:
    with pytest.raises(FileFormatError, match="save it again"):
        Levels.from_dict(stored)
