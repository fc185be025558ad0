"""Delimited text: bytes to a grid of cells, with the encoding and the separator found out."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from itertools import islice

from headstart.errors import DataError, FileFormatError
from headstart.tasks.grids import Grid
from headstart.tasks.notations import NUMBER

_SEPARATORS = (",", ";", "\t", "|")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SEP_LINE = re.compile(r"sep=(.)\r?(?:\n|$)", re.IGNORECASE)
_SNIFFED = 200  # lines looked at to find the separator
_RESAVE = "Save it from the spreadsheet program as 'CSV UTF-8'"
# What a spreadsheet program may run, in quotes or not: text that begins with one of these, also in full width and after
# blanks, be they visible or not. An apostrophe before it keeps it from being run.
_FORMULA = re.compile(
    r"'* [\s\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff]* [=+\-@\t\r\n\x00\uff0b\uff0d\uff1d\uff20]", re.VERBOSE
)


def decoded(data: bytes, *, encoding: str | None = None) -> str:
    """The text of a file: UTF-8 or UTF-16 where it says so or fits, else the Windows encoding of Western Europe.

    >>> decoded("T in °C".encode("cp1252")), decoded("T in °C".encode("utf-16"))
    ('T in °C', 'T in °C')
    """
    given = encoding is not None
    if encoding is None:
        encoding = next((name for mark, name in _BOMS if data.startswith(mark)), None) or _guessed(data)
    try:
        text = data.decode(encoding)
    except LookupError:
        raise DataError(
            f"There is no encoding {encoding!r}. Give one that Python knows, such as 'utf-8' or 'cp1252'."
        ) from None
    except (UnicodeError, ValueError) as error:
        fix = "Give another encoding, or none" if given else "Name its encoding, as in encoding='cp1250' (--encoding)"
        raise FileFormatError(
            f"It is not text in the encoding {encoding}: {error}. {fix}, or {_RESAVE[0].lower()}{_RESAVE[1:]}."
        ) from error
    text = text.removeprefix("\ufeff").rstrip("\x1a")  # the end of a file as DOS marked it
    control = _CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        raise FileFormatError(
            f"It is no text: line {line} holds the character {control.group()!r}. {_RESAVE}; if it is text in "
            f"another encoding, name it, as in encoding='utf-16-le' (--encoding)."
        )
    return text


def _guessed(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def grid_of_text(text: str, *, separator: str | None = None) -> tuple[Grid, str]:
    """The rows of a text, one a record, and the separator: a quoted cell may hold separators and line ends.

    An apostrophe that keeps a cell from being run as a formula is no part of it.

    >>> grid_of_text('pump;flow\\n"A;\\nold";12,5\\n')
    ([['pump', 'flow'], ['A;\\nold', '12,5']], ';')
    >>> grid_of_text("pump,flow\\n'=A,12\\n")
    ([['pump', 'flow'], ['=A', '12']], ',')
    """
    stated = _SEP_LINE.match(text)
    if stated:  # Excel's own hint, which it does not show as a row
        text = text[stated.end() :]
        separator = separator or stated.group(1)
    separator = separator or _sniffed(text)
    if len(separator) != 1 or separator in '\r\n" ':
        raise DataError(
            f"A separator is one character, such as ',' ';' '\\t' or '|', not {separator!r}. Correct it (--separator)."
        )
    rows: list[list[str]] = []
    try:
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True))
    except csv.Error as error:  # the rows before the bad one have been read
        raise DataError(
            f"Row {len(rows) + 1} cannot be read: {error}. Close the quotation mark that opens in it, or write a mark "
            f'that belongs to the text twice ("").'
        ) from None
    if "'" in text:
        rows = [[unguarded(cell) if cell[:1] == "'" else cell for cell in row] for row in rows]
    return [*rows], separator


def _sniffed(text: str) -> str:
    """The separator that cuts most rows into the same number of cells, the first of them among these."""
    lines = list(islice(io.StringIO(text, newline=""), _SNIFFED))
    best, separator = (False, 0.0, 1), ","
    for candidate in _SEPARATORS:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=candidate, skipinitialspace=True) if any(row)]
        except csv.Error:
            continue
        several = Counter(count for count in counts if count > 1)
        if several:
            usual, often = several.most_common(1)[0]
            score = (counts[0] == usual, often / len(counts), usual)
            if score > best:
                best, separator = score, candidate
    return separator


def might_run(text: str) -> bool:
    """Whether a cell of this text is no number and a spreadsheet program might run it, less its apostrophes if any.

    >>> [might_run(text) for text in ("=1+1", " @A1", "-old-", "'=1+1", "-5.2", "'90s")]
    [True, True, True, True, False, False]
    """
    return bool(_FORMULA.match(text)) and not any(number.fullmatch(text.strip()) for number in NUMBER.values())


def guarded(text: str) -> str:
    """The text, after an apostrophe if a spreadsheet program might run it.

    What looks as if it had its apostrophe gets one more, so that `unguarded` undoes this for every text.

    >>> [guarded(text) for text in ("=1+1", "-5.2", "-old-", "'=1+1", "'90s")]
    ["'=1+1", '-5.2', "'-old-", "''=1+1", "'90s"]
    """
    return f"'{text}" if might_run(text) else text


def unguarded(text: str) -> str:
    """The text without the apostrophe that `guarded` put before it.

    >>> [unguarded(text) for text in ("'=1+1", "=1+1", "''=1+1", "'90s")]
    ['=1+1', '=1+1', "'=1+1", "'90s"]
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def check_even(grid: Grid, *, header: int) -> None:
    """Refuse a row with more cells than the header has names: what is in them belongs nowhere.

    >>> check_even([["pump", "head"], ["A", "12", "5"]], header=0)
    Traceback (most recent call last):
    headstart.errors.DataError: Row 2 has 3 cells and the header, row 1, has 2: '5' is one too many. An unquoted \
separator inside a cell, or a decimal comma? Put the cell into double quotes, or give the separator \
(separator=';', --separator ';') or the row of the header (header_row=, --header-row).
    """
    width = len(grid[header])
    usual = Counter(map(len, grid[header + 1 :])).most_common(1)
    if usual and usual[0][0] > 2 * width:
        return  # a title stands where the header should: a better error follows
    for place, row in enumerate(grid[header + 1 :], start=header + 2):
        extra = [cell for cell in row[width:] if str(cell).strip()] if len(row) > width else []
        if extra:
            raise DataError(
                f"Row {place} has {len(row)} cells and the header, row {header + 1}, has {width}: {extra[0]!r} is one "
                f"too many. An unquoted separator inside a cell, or a decimal comma? Put the cell into double quotes, "
                f"or give the separator (separator=';', --separator ';') or the row of the header (header_row=, "
                f"--header-row)."
            )
