"""Archives as people have them: each file gives the right numbers, or an error that names file, place and fix."""

import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from headstart.errors import DataError, FileFormatError, HeadstartError
from headstart.tasks import Levels, Rows, infer_roles, naming, read_table, rows_from_frame

GOOD = [[10.0, 1500.0], [12.5, 1600.0], [8.0, 1450.0], [11.0, 1525.0]]  # flow, speed
HEAD = [4.9, 5.5, 4.25, 5.0]
PUMPS = ["A", "A", "B", "B"]


def solve(path: Path, options: dict[str, Any], roles: dict[str, Any]) -> tuple[Rows, Levels]:
    """From the file to the arrays, as `headstart` does it."""
    frame = read_table(path, **options)
    with naming(path.name):
        problem = infer_roles(frame, **{"objective": "head", "goal": "maximize", **roles}).problem
        return rows_from_frame(frame, problem, Levels.none(problem), with_objective=True)


@dataclass(frozen=True)
class Case:
    """An archive, how it is read, and either its arrays or the words of the error."""

    id: str
    content: bytes | str | Callable[[], bytes]
    words: tuple[str, ...] = ()
    error: type[HeadstartError] = DataError
    inputs: Any = None
    head: Any = None
    pumps: Any = None
    name: str = "archive.csv"
    options: dict[str, Any] = field(default_factory=dict)
    roles: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        content = self.content() if callable(self.content) else self.content
        path = folder / self.name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


def right(id: str, content: Any, *, inputs: Any = GOOD, head: Any = HEAD, pumps: Any = PUMPS, **more: Any) -> Case:
    return Case(id, content, inputs=inputs, head=head, pumps=pumps, **more)


def wrong(id: str, content: Any, *words: str, **more: Any) -> Case:
    return Case(id, content, words=words, **more)


PLAIN = "pump,flow,speed,head\nA,10,1500,4.9\nA,12.5,1600,5.5\nB,8,1450,4.25\nB,11,1525,5\n"
COMMAS = "pump;flow;speed;head\nA;10;1500;4,9\nA;12,5;1600;5,5\nB;8;1450;4,25\nB;11;1525;5\n"
LINES = PLAIN.splitlines()


def edited(row: int, text: str) -> str:
    """The plain table with one row, as a spreadsheet counts, written otherwise."""
    return "\n".join([*LINES[: row - 1], text, *LINES[row:]]) + "\n"


def workbook(rows: list[list[Any]] | None = None, change: Callable[[Any], None] | None = None) -> Callable[[], bytes]:
    def build() -> bytes:
        book = openpyxl.Workbook()
        cells = rows or [["pump", "flow", "speed", "head"]] + [
            [pump, *xs, y] for pump, xs, y in zip(PUMPS, GOOD, HEAD, strict=True)
        ]
        for row in cells:
            book.active.append(row)
        if change:
            change(book)
        buffer = io.BytesIO()
        book.save(buffer)
        return buffer.getvalue()

    return build


def parquet(frame: pd.DataFrame | None = None) -> Callable[[], bytes]:
    return lambda: (read_frame() if frame is None else frame).to_parquet()


def read_frame() -> pd.DataFrame:
    return pd.read_csv(io.StringIO(PLAIN))


def merged(book: Any) -> None:
    book.active.merge_cells("A2:A3")


def second_sheet(book: Any) -> None:
    book.create_sheet("notes", 0)
    book.create_sheet("empty", 1)


def ole(text: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + text.encode("utf-16-le") + bytes(500)


CASES = [
    # Encodings
    right("plain", PLAIN),
    right("utf8-bom", b"\xef\xbb\xbf" + PLAIN.encode()),
    right("utf16-le", b"\xff\xfe" + PLAIN.encode("utf-16-le")),
    right("utf16-be", b"\xfe\xff" + PLAIN.encode("utf-16-be"), name="archive.txt"),
    right("utf16-no-mark-named", PLAIN.encode("utf-16-le"), options={"encoding": "utf-16-le"}),
    wrong("utf16-no-mark", PLAIN.encode("utf-16-le"), "line 1", "encoding='utf-16-le'", error=FileFormatError),
    right(
        "cp1252-degrees",
        PLAIN.replace("flow", "flow at 20 °C").encode("cp1252"),
        roles={"inputs": ["flow at 20 °C", "speed"]},
    ),
    right("utf8-labels", PLAIN.replace("A,", "Grün,"), pumps=["Grün", "Grün", "B", "B"]),
    wrong("wrong-encoding", PLAIN, "no encoding 'utf-9'", "'cp1252'", options={"encoding": "utf-9"}),
    wrong(
        "encoding-that-does-not-fit",
        "pump,ö\n".encode("cp1252"),
        "utf-8",
        "another",
        error=FileFormatError,
        options={"encoding": "utf-8"},
    ),
    wrong("undefined-in-cp1252", b"pump,head\nA,\x81\n", "cp1252", "--encoding", error=FileFormatError),
    wrong("nul-bytes", PLAIN.replace("B,8", "B\0,8"), "line 4", "'\\x00'", "CSV UTF-8", error=FileFormatError),
    wrong("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no text", "CSV UTF-8", error=FileFormatError),
    # Separators and line ends
    right("semicolons", PLAIN.replace(",", ";")),
    right("tabs-in-csv", PLAIN.replace(",", "\t")),
    right("pipes", PLAIN.replace(",", "|"), name="archive.txt"),
    right("other-separator", PLAIN.replace(",", "~"), options={"separator": "~"}),
    wrong("long-separator", PLAIN, "one character", "'::'", "--separator", options={"separator": "::"}),
    right("sep-line", "sep=;\r\n" + PLAIN.replace(",", ";")),
    right("crlf", PLAIN.replace("\n", "\r\n")),
    right("cr-only", PLAIN.replace("\n", "\r")),
    right("no-last-line-end", PLAIN.rstrip()),
    right("dos-end-of-file", PLAIN + "\x1a"),
    right("blanks-after-separators", PLAIN.replace(",", ", ")),
    right(
        "blanks-before-labels-and-quotes",
        'flow, pump, head\n10, "A, old", 4\n11, B, 5\n13, B, 6\n',
        inputs=[[10], [11], [13]],
        head=[4, 5, 6],
        pumps=["A, old", "B", "B"],
    ),
    right(
        "commas-more-regular-than-separators",
        "pump;flow;head\nA;10;4,9\nA;12;5,5;\nB;8;4,25;\nB;11;5,1\n",
        inputs=[[10], [12], [8], [11]],
        head=[4.9, 5.5, 4.25, 5.1],
    ),
    right("trailing-separators", PLAIN.replace("\n", ",\n")),
    right("trailing-separators-below-the-header", PLAIN.replace("\n", ",\n").replace(",\n", "\n", 1)),
    right("blank-lines-and-rows", "\n\n" + PLAIN.replace("\nB,8", "\n\n,,,\n  , ,,\nB,8")),
    right("quoted-separator", PLAIN.replace("A,", '"A, old",'), pumps=["A, old", "A, old", "B", "B"]),
    right("quoted-line-end", PLAIN.replace("A,", '"A\nold",'), pumps=["A\nold", "A\nold", "B", "B"]),
    right("doubled-quotes", PLAIN.replace("A,", '"A 5""",'), pumps=['A 5"', 'A 5"', "B", "B"]),
    wrong("row-after-quoted-line-end", PLAIN.replace("A,", '"A\nold",').replace("8,1450", "8,x"), "'x' in row 4"),
    wrong("unclosed-quote", edited(3, 'A,"12.5,1600,5.5'), "Row 3", "quotation mark"),
    wrong("ragged-long", edited(4, "B,8,1450,4.25,99"), "Row 4 has 5 cells", "'99'", "separator"),
    wrong("decimal-comma-in-commas", edited(4, "B,8,1450,4,25"), "Row 4", "'25'", "decimal comma"),
    wrong("ragged-short", edited(4, "B,8,1450"), "'head'", "an empty cell in row 4", "Fill it in"),
    # Decimal marks and thousands
    right("decimal-commas", COMMAS),
    right(
        "european-thousands",
        COMMAS.replace("1500", "1.500,0").replace("1600", "1.600"),
    ),
    right("english-thousands", PLAIN.replace("1500", '"1,500"').replace("1600", '"1,600"')),
    right("swiss-thousands", PLAIN.replace("1500", "1'500").replace("1600", "1 600")),
    right("unicode-minus", PLAIN.replace("4.9", "\u22124.9"), head=[-4.9, *HEAD[1:]]),
    wrong(
        "ambiguous-commas",
        "pump;speed;head\nA;1,500;3\nB;1,600;4\n",
        "'speed'",
        "'1,500' in row 2",
        "decimal=','",
        "--decimal",
    ),
    right(
        "ambiguous-settled-comma",
        "pump;speed;head\nA;1,500;3\nA;1,625;4\n",
        options={"decimal": ","},
        inputs=[[1.5], [1.625]],
        head=[3, 4],
        pumps=["A", "A"],
    ),
    right(
        "ambiguous-settled-point",
        "pump;speed;head\nA;1,500;3\nA;1,625;4\n",
        options={"decimal": "."},
        inputs=[[1500], [1625]],
        head=[3, 4],
        pumps=["A", "A"],
    ),
    right(
        "three-decimals-with-point",
        "pump,x,head\nA,1.500,3\nA,1.625,4\n",
        inputs=[[1.5], [1.625]],
        head=[3, 4],
        pumps=["A", "A"],
    ),
    wrong(
        "points-among-commas",
        COMMAS.replace("1500", "1.500").replace("1600", "1.600"),
        "'speed'",
        "'1.500' in row 2",
        "decimal=','",
    ),
    wrong(
        "points-between-semicolons",
        "pump;rpm;head\nA;1.450;12\nA;2.900;20\n",
        "Column 'rpm': '1.450' in row 2",
        "1.45 with a decimal point and 1450",
        "--decimal",
    ),
    wrong(
        "points-after-a-sep-line",
        "sep=;\npump;rpm;head\nA;950;12\nA;2.900;20\n",
        "Column 'rpm': '2.900' in row 3",
        "--decimal",
    ),
    right(
        "points-between-semicolons-settled",
        "pump;rpm;head\nA;1.450;12.5\nA;2.900;20\n",
        inputs=[[1.45], [2.9]],
        head=[12.5, 20],
        pumps=["A", "A"],
    ),
    right(
        "points-between-semicolons-said",
        "pump;rpm;head\nA;1.450;12\nA;2.900;20\n",
        options={"decimal": ","},
        inputs=[[1450], [2900]],
        head=[12, 20],
        pumps=["A", "A"],
    ),
    *(
        right(
            f"points-between-{name}",
            f"pump{mark}rpm{mark}head\nA{mark}1.450{mark}12\nA{mark}2.900{mark}20\n",
            inputs=[[1.45], [2.9]],
            head=[12, 20],
            pumps=["A", "A"],
        )
        for name, mark in [("commas", ","), ("tabs", "\t"), ("pipes", "|")]
    ),
    right(
        "points-in-a-workbook",
        workbook([["pump", "rpm", "head"], ["A", "1.450", 12], ["A", "2.900", 20]]),
        inputs=[[1.45], [2.9]],
        head=[12, 20],
        pumps=["A", "A"],
        name="a.xlsx",
    ),
    wrong("both-marks", COMMAS.replace("4,25", "4.25"), "'head'", "'4.25' in row 4", "'4,9' in row 2", "same decimal"),
    wrong("bad-cell-among-commas", COMMAS.replace("4,25", "leak"), "1 of its 4 rows", "'leak' in row 4"),
    wrong("no-decimal-mark", PLAIN, "'.' or ','", "--decimal", options={"decimal": "x"}),
    right("scales", PLAIN.replace("4.9", "4.9e-300").replace("5.5", "1E+300"), head=[4.9e-300, 1e300, 4.25, 5.0]),
    right(
        "huge-integers",
        PLAIN.replace("1500", "9" * 30).replace("1600", str(2**53 + 1)),
        inputs=[[10, 1e30], [12.5, 2.0**53], *GOOD[2:]],
    ),
    # Headers and what is around the table
    wrong("title-row", "Campaign 2023\n\n" + PLAIN, "Row 1", "header_row=3", "--header-row 3"),
    right("title-row-skipped", "Campaign 2023\n\n" + PLAIN, options={"header_row": 3}),
    wrong("merged-header", "Inputs,,,Result\n,,,\n" + PLAIN, "Row 3", "header_row=3"),
    wrong("broad-merged-header", ",Settings,,\n" + PLAIN, "Row 1 names 1 of 4", "above column A", "header_row=2"),
    wrong("comment-rows", "# exported\n# by hand\n" + PLAIN, "Row 1", "header_row=3"),
    wrong("comment-with-separators", "# a,b,c,d\n" + PLAIN, "Row 2", "'flow' under 'b'", "Delete the row"),
    wrong("units-row", edited(1, LINES[0] + "\n,l/min,1/min,m"), "Row 2", "'l/min' under 'flow'", "units"),
    wrong("no-such-header", PLAIN, "Row 9", "--header-row", options={"header_row": 9}),
    wrong("header-row-zero", PLAIN, "counted from 1", "--header-row", options={"header_row": 0}),
    wrong("header-repeated", edited(4, LINES[0] + "\n" + LINES[3]), "Row 4 repeats the header", "Delete it"),
    wrong("totals-row", PLAIN + "Total:,41.5,6075,19.65\n", "Row 6", "'Total:' in column 'pump'", "rename the label"),
    wrong("mean-below", PLAIN + ",,,\n,Mittelwert,,4.9\n", "Row 7", "'Mittelwert' in column 'flow'", "Delete"),
    *(
        wrong(f"totals-row-{label}", PLAIN + f'"{label}",41.5,6075,19.65\n', "Row 6, the last", repr(label), "Delete")
        for label in ("Total (n=2)", "Total 2024", "TOTAL *", "Mean [4]", "Sub-total, 4", "Sum: 41.5", "std.")
    ),
    wrong("subtotal", edited(3, f"{LINES[2]}\nTotal,22.5,3100,10.4"), "Row 4 has 'Total' in column 'pump'", "rename"),
    wrong("total-above-a-footnote", PLAIN + "Total,41.5,6075,19.65\n* all seals new,,,\n", "Row 6 has 'Total'"),
    wrong("mean-between-blank-cells", edited(3, f"{LINES[2]}\n,Mean (n=2),,5.2"), "Row 4", "'Mean (n=2)'", "'flow'"),
    wrong(
        "subtotal-of-a-task",
        "pump,fluid,flow,head\nA,oil,1.5,3\nA,Total,2,4\nB,oil,3,5\nB,oil,4,6\n",
        "Row 3 has 'Total' in column 'fluid'",
    ),
    *(
        right(
            f"no-total-{label}",
            PLAIN + f"{label},9,1500,5\n",
            inputs=[*GOOD, [9, 1500]],
            head=[*HEAD, 5],
            pumps=[*PUMPS, label],
        )
        for label in ("Total Quartz 3 Pump", "Total 5W-30", "SUM-159", "SUM159", "Std 1", "Media (M9)", "Summer")
    ),
    right(
        "average-is-a-rating",
        "\n".join(f"{line},{r}" for line, r in zip(LINES, ["wear", "low", "average", "low", "low"], strict=True)),
        roles={"general": "pump"},
    ),
    right("total-is-a-label", PLAIN.replace("A,", "Total,"), pumps=["Total", "Total", "B", "B"]),
    right("mean-is-a-label", PLAIN.replace("B,", "mean,"), pumps=["A", "A", "mean", "mean"]),
    right("pandas-index", pd.read_csv(io.StringIO(PLAIN)).to_csv()),
    right("blank-header-names", edited(1, ' pump ,"flow\n", speed ,head\u00a0')),
    right("unnamed-column", "\n".join(f"{line},{x}" for line, x in zip(LINES, ["", 3, 1, 4, 1], strict=True))),
    wrong("duplicate-columns", edited(1, "pump,flow,flow,head"), "2 columns called 'flow'", "Rename"),
    wrong("duplicate-objective", edited(1, "pump,flow,head,head"), "2 columns called 'head'", "Rename"),
    wrong("no-objective", PLAIN.replace("head", "Heed"), "no column 'head'", "Did you mean 'Heed'?"),
    wrong("no-header", "\n".join(LINES[1:]), "no column 'head'", "'1500'"),
    # Too little
    wrong("empty", b"", "is empty"),
    wrong("blanks-alone", b" \n \n", "is empty"),
    wrong("separators-alone", b",,\n,,\n", "nothing in it"),
    wrong("header-only", LINES[0], "no row follows", "at least one experiment"),
    wrong("one-row", "\n".join(LINES[:2]), "'flow' has the same value 10 in every row", "inputs="),
    right(
        "one-row-with-inputs",
        "\n".join(LINES[:2]),
        inputs=GOOD[:1],
        head=HEAD[:1],
        pumps=["A"],
        roles={"inputs": ["flow", "speed"]},
    ),
    right("one-level", PLAIN.replace("B,", "A,"), pumps=["A"] * 4),
    wrong("no-labels", "\n".join(line[line.index(",") + 1 :] for line in LINES), "'flow' holds numbers", "--general"),
    wrong("one-column", "head\n3\n4\n", "no other column", "--general"),
    # Cells
    wrong("text-in-numbers", edited(4, "B,8 l/min,1450,4.25"), "'flow'", "'8 l/min' in row 4", "--ignore"),
    wrong("text-in-objective", edited(4, "B,8,1450,broken"), "'head'", "'broken' in row 4", "leave the row out"),
    wrong("percent-signs", PLAIN.replace("4.9", "49 %").replace("5.5", "55 %"), "'49 %' in row 2", "without a unit"),
    wrong("percent-inputs", PLAIN.replace(",1", " %,1"), "'flow'", "'10 %' in row 2", "general=['flow']"),
    wrong("infinity", edited(4, "B,inf,1450,4.25"), "'flow'", "inf in row 4", "finite value"),
    wrong("infinite-objective", edited(4, "B,8,1450,-Infinity"), "'head'", "-inf in row 4", "finite value"),
    wrong("missing-objective", edited(4, "B,8,1450,n/a"), "'head'", "an empty cell in row 4", "Fill it in"),
    right("missing-input", edited(4, "B,NA,1450,4.25"), inputs=[row[1:] for row in GOOD]),
    wrong("missing-inputs", "pump,flow,head\nA,1,2\nB,-,3\n", "'flow' has 1 empty cell (row 3)", "Complete"),
    right("na-is-a-label", PLAIN.replace("B,", "NA,"), pumps=["A", "A", "NA", "NA"]),
    right("none-is-a-label", PLAIN.replace("B,", "None,"), pumps=["A", "A", "None", "None"]),
    wrong("missing-label", edited(4, ",8,1450,4.25"), "'pump'", "an empty cell in row 4", "Fill it in"),
    right("padded-labels", PLAIN.replace("A,", "007,").replace("B,", "012,"), pumps=["007", "007", "012", "012"]),
    right(
        "numbered-labels",
        PLAIN.replace("A,", "7,").replace("B,", "12,"),
        pumps=["7", "7", "12", "12"],
        roles={"general": "pump"},
    ),
    wrong(
        "numbered-labels-unsaid", PLAIN.replace("A,", "7,").replace("B,", "12,"), "'pump' holds numbers", "--general"
    ),
    right(
        "truth-values", PLAIN.replace("A,", "TRUE,").replace("B,", "FALSE,"), pumps=["TRUE", "TRUE", "FALSE", "FALSE"]
    ),
    right(
        "dates",
        "\n".join(f"{line},{d}" for line, d in zip(LINES, ["day", *["2024-05-01", "2.5.2024"] * 2], strict=True)),
    ),
    wrong("date-among-numbers", edited(4, "B,8. Mai,1450,4.25"), "'flow'", "'8. Mai' in row 4"),
    wrong(
        "two-label-columns",
        "\n".join(f"{line},{o}" for line, o in zip(LINES, ["who", *"xyxy"], strict=True)),
        "'pump', 'who'",
        "general=['pump']",
        "--general pump",
    ),
    right(
        "two-label-columns-said",
        "\n".join(f"{line},{o}" for line, o in zip(LINES, ["who", *"xyxy"], strict=True)),
        roles={"general": ["pump"]},
    ),
    right("row-numbers", "\n".join(f"{n},{line}" for n, line in zip(["run", 1, 2, 3, 4], LINES, strict=True))),
    right("descriptor", "\n".join(f"{line},{d}" for line, d in zip(LINES, ["d", 3, 3, 4, 4], strict=True))),
    # Workbooks
    right("xlsx", workbook(), name="archive.xlsx"),
    right("xlsx-called-csv", workbook()),
    right("csv-called-xlsx", PLAIN, name="archive.xlsx"),
    right("first-sheet-with-data", workbook(change=second_sheet), name="a.xlsx"),
    wrong(
        "no-such-sheet",
        workbook(change=second_sheet),
        "'notes', 'empty', 'Sheet'",
        "Did you mean 'Sheet'?",
        name="a.xlsx",
        options={"sheet": "sheet1"},
    ),
    wrong("empty-sheet", workbook(change=second_sheet), "nothing in it", name="a.xlsx", options={"sheet": "empty"}),
    wrong("merged-labels", workbook(change=merged), "'pump'", "an empty cell in row 3", name="a.xlsx"),
    wrong(
        "error-cell",
        workbook([["pump", "flow", "head"], ["A", 1, 2], ["A", 2, "#DIV/0!"], ["B", 4, 4]]),
        "'#DIV/0!' in row 3",
        name="a.xlsx",
    ),
    right(
        "numbers-as-text-in-xlsx",
        workbook([["pump", "flow", "head"], ["A", "1,5", 2], ["A", 2, 3.5], ["A", 4, 4]]),
        name="a.xlsx",
        inputs=[[1.5], [2], [4]],
        head=[2, 3.5, 4],
        pumps=["A"] * 3,
    ),
    right(
        "xlsx-dates-and-title",
        workbook(
            [
                ["2023"],
                [],
                ["pump", "flow", "head", "day"],
                ["A", 1, 2, datetime(2024, 5, 1)],
                ["A", 2.5, 4, datetime(2024, 5, 2)],
            ]
        ),
        name="a.xlsx",
        options={"header_row": 3},
        inputs=[[1], [2.5]],
        head=[2, 4],
        pumps=["A", "A"],
    ),
    wrong(
        "xlsx-title",
        workbook([["2023"], [], ["pump", "flow", "head"], ["A", 1, 2]]),
        "Row 1",
        "header_row=3",
        name="a.xlsx",
    ),
    wrong("corrupt-xlsx", lambda: workbook()()[:-300], "damaged", "again", error=FileFormatError, name="a.xlsx"),
    wrong("zip", lambda: zipped("archive.csv", PLAIN), "zip archive", "Unpack", error=FileFormatError, name="a.zip"),
    wrong("ods", lambda: zipped("content.xml", "<x/>"), "OpenDocument", ".xlsx", error=FileFormatError, name="a.ods"),
    wrong(
        "broken-sheet",
        lambda: zipped("xl/workbook.xml", "<workbook"),
        "damaged",
        ".xlsx",
        error=FileFormatError,
        name="a.xlsx",
    ),
    wrong("xls", ole("Workbook"), "old Excel", ".xlsx", error=FileFormatError, name="a.xls"),
    wrong("encrypted", ole("EncryptedPackage"), "encrypted", "password", error=FileFormatError, name="a.xlsx"),
    wrong(
        "html-called-xls",
        "\n<html><table><tr><td>pump</table>",
        "web page",
        ".xlsx",
        error=FileFormatError,
        name="a.xls",
    ),
    wrong("pdf", b"%PDF-1.7\n%\xe2\xe3", "PDF", "CSV", error=FileFormatError, name="a.pdf"),
    wrong("json", '[{"pump": "A", "head": 3}]', "JSON", ".csv", error=FileFormatError, name="a.json"),
    wrong(
        "formulas-never-computed",
        workbook([["pump", "flow", "head"], ["A", 1, "=B2*2"], ["B", 2, "=B3*2"]]),
        "'=B2*2' in cell C2",
        "save it",
        name="a.xlsx",
    ),
    # Others
    right("gz", gzip.compress(PLAIN.encode()), name="archive.csv.gz"),
    wrong("corrupt-gz", gzip.compress(PLAIN.encode())[:-12], "gzip", "again", error=FileFormatError, name="a.csv.gz"),
    right("parquet", parquet(), name="archive.parquet"),
    wrong(
        "parquet-bad-cell",
        parquet(read_frame().astype(object).replace(12.5, None)),
        "an empty cell in row 3",
        name="a.parquet",
        roles={"objective": "flow"},
    ),
    wrong("corrupt-parquet", lambda: parquet()()[:-40], "damaged", "again", error=FileFormatError, name="a.parquet"),
    wrong("parquet-header-only", parquet(read_frame().iloc[:0]), "no rows", name="a.parquet"),
]


def zipped(name: str, text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, text)
    return buffer.getvalue()


def test_cases_are_many_and_named() -> None:
    assert len({case.id for case in CASES}) == len(CASES) >= 45


@pytest.mark.parametrize("case", [case for case in CASES if not case.words], ids=lambda case: case.id)
def test_right_numbers(case: Case, tmp_path: Path) -> None:
    rows, levels = solve(case.write(tmp_path), case.options, case.roles)
    np.testing.assert_allclose(rows.inputs, case.inputs, rtol=1e-15)
    np.testing.assert_allclose(rows.objective, case.head, rtol=1e-15)
    assert [levels.labels[0][code] for code in rows.codes[:, 0]] == case.pumps


@pytest.mark.parametrize("case", [case for case in CASES if case.words], ids=lambda case: case.id)
def test_errors_name_the_file_the_place_and_the_fix(case: Case, tmp_path: Path) -> None:
    with pytest.raises(case.error) as raised:
        solve(case.write(tmp_path), case.options, case.roles)
    message = str(raised.value)
    assert message.startswith(f"{case.name}: ")
    assert message.count(case.name) == 1
    for word in case.words:
        assert word in message
