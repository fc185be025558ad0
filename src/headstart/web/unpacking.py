"""How large a dropped file is inside, found out before it is read: a few kilobytes can unpack to gigabytes."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from dataclasses import dataclass

from headstart.errors import DataError, FileFormatError

_SEPARATORS = (b",", b";", b"\t", b"|")
_LINES = 50  # that the names of the columns are among
# Where a row or a cell of a sheet says that it is: openpyxl fills in all that is left out before it.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Z]{0,3})(\d{1,9})["']""")


@dataclass(frozen=True)
class Room:
    """How much a table may hold: rows, columns, cells of a sheet with its empty ones, and bytes once unpacked."""

    rows: int
    columns: int = 1000
    cells: int = 20_000_000
    size: int = 100 * 2**20

    def check(self, rows: int, columns: int = 0, size: int = 0) -> None:
        """Raise a `DataError` where a table has no room."""
        if rows > self.rows:
            raise DataError(f"The table has {rows} rows, more than {self.rows}. Drop a sample of them.")
        if columns > self.columns:
            raise DataError(f"The table has {columns} columns, more than {self.columns}. Drop a file of those you use.")
        if size > self.size:
            raise DataError(
                f"Unpacked, the file is larger than {self.size // 2**20} MB. Drop a file with a sample of its rows."
            )


def unpacked(content: bytes, room: Room) -> bytes:
    """The content of a file, without its gzip layer if it has one; a `DataError` if a table in it has no room."""
    if content.startswith(b"\x1f\x8b"):
        content = _without_gzip(content, room)
    if content.startswith(b"PK\x03\x04"):
        _check_workbook(content, room)
    elif content.startswith(b"PAR1"):
        _check_parquet(content, room)
    else:
        _check_text(content, room)
    return content


def _without_gzip(content: bytes, room: Room) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            inside = file.read(room.size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"The gzip file is damaged ({error}). Copy or download it again.") from error
    room.check(0, size=len(inside))
    if inside.startswith(b"\x1f\x8b"):
        raise FileFormatError("It is a gzip file inside a gzip file. Unpack it once, and drop what is in it.")
    return inside


def _check_workbook(content: bytes, room: Room) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # No part unpacks to more than it announces: the rest is not read.
            room.check(0, size=sum(part.file_size for part in archive.infolist()))
            for part in archive.namelist():
                if part.startswith("xl/worksheets/"):
                    _check_sheet(archive.read(part), room)
    except DataError:
        raise
    except Exception:  # a damaged archive raises more than BadZipFile
        return  # whoever reads it says so, in better words


def _check_sheet(sheet: bytes, room: Room) -> None:
    last, widest = 0, b""
    for place in _PLACE.finditer(sheet):
        letters, row = place.groups()
        last, widest = max(last, int(row)), max(widest, letters, key=lambda each: (len(each), each))
    columns = 0
    for letter in widest:
        columns = 26 * columns + letter - ord("A") + 1
    # Each alone may be large where cells are formatted down to the last row: what is empty there is left out.
    if last * columns > room.cells:
        raise DataError(f"A sheet reaches down to row {last} and across {columns} columns. Drop a sample of its rows.")


def _check_parquet(content: bytes, room: Room) -> None:
    try:
        from pyarrow import parquet

        metadata = parquet.read_metadata(io.BytesIO(content))
    except Exception:  # damaged, or pyarrow is not there
        return
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    rows, size = sum(group.num_rows for group in groups), sum(group.total_byte_size for group in groups)
    room.check(rows, metadata.num_columns, size)
    columns = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    for column in columns:
        if column.max_repetition_level:
            raise DataError(f"Column {column.path!r} holds lists. Give it one value a row, or leave it out.")
        room.check(0, size=rows * column.length)  # of values that are all as long
    # A text is stored once, however many rows it is in.
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    room.check(0, size=_length_of_texts(content, texts) if texts else 0)


def _length_of_texts(content: bytes, columns: list[str]) -> int:
    from pyarrow import DictionaryArray, compute, parquet

    length = 0
    try:
        for column in parquet.read_table(io.BytesIO(content), columns=columns, read_dictionary=columns).columns:
            for chunk in column.chunks:
                if isinstance(chunk, DictionaryArray):
                    lengths = compute.binary_length(chunk.dictionary)
                    length += compute.sum(lengths.take(chunk.indices)).as_py() or 0
    except Exception:  # damaged: whoever reads it says so
        return 0
    return length


def _check_text(content: bytes, room: Room) -> None:
    # A quoted cell may hold line ends, so that there may be fewer rows than lines; hardly ten times fewer.
    if content.count(b"\n") > 10 * room.rows:
        raise DataError(f"The table has more than {room.rows} rows. Drop a sample of them.")
    for line in io.BytesIO(content).readlines(2**20)[:_LINES]:
        room.check(0, max(line.count(each) for each in _SEPARATORS) + 1)
