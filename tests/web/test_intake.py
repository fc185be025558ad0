"""From a dropped file to a campaign."""

import gzip
import io
import re
import tempfile
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dashboard import archive
from pyarrow import parquet
from visiting import Visitor

import headstart as hs
from headstart.errors import DataError, FileFormatError, HeadstartError, ProblemError
from headstart.web.intake import Choice, intake, roles_of, table_of
from headstart.web.unpacking import Room, unpacked

CSV = archive().to_csv(index=False).encode()
SMALL = Room(rows=100, columns=20, cells=10_000, size=2**20)
CHOSEN = {"pump": "general", "speed_rpm": "input", "angle_deg": "input", "head_m": "objective"}


def workbook(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_excel(buffer, index=False)
    return buffer.getvalue()


def with_sheet(*rows: str, padding: int = 0) -> bytes:
    """A workbook whose sheet holds these rows of XML."""
    buffer = io.BytesIO()
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{namespace}"><sheetData>{"".join(rows)}{" " * padding}</sheetData></worksheet>'
    with (
        zipfile.ZipFile(io.BytesIO(workbook(archive()))) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for part in source.namelist():
            target.writestr(part, sheet if part == "xl/worksheets/sheet1.xml" else source.read(part))
    return buffer.getvalue()


def in_parquet(columns: dict) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pumps.csv", CSV),
        ("pumps.csv.gz", gzip.compress(CSV)),
        ("pumps.xlsx", workbook(archive())),
        ("pumps.parquet", archive().to_parquet()),
        ("what its name says does not matter.exe", CSV),
    ],
)
def test_a_table_is_read_whatever_it_is_packed_in(name, content):
    table = table_of(name, content, most=24)
    pd.testing.assert_frame_equal(table.reset_index(drop=True), archive(), check_dtype=False)
    assert table.index[0] == 2  # as a spreadsheet program counts
    with pytest.raises(DataError, match="24 rows, more than 23"):
        table_of(name, content, most=23)


@pytest.mark.parametrize("name", ["../../secret.csv", "C:\\data\\secret.csv", "/etc/secret.csv", "secret.csv"])
def test_an_error_names_the_file_and_no_place_on_the_server(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as raised:
        table_of(name, b"a,b\n1,2,3\n", most=10)
    assert str(raised.value).startswith("secret.csv: Row 2 has 3 cells")
    assert tempfile.gettempdir() not in str(raised.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "..", "/", "\0", "a" * 5000])
def test_odd_names_do_no_harm(name):
    assert len(table_of(name, CSV, most=100)) == 24


# ---------------------------------------------------------------------- what is larger inside


def test_a_gzip_file_that_unpacks_to_too_much_is_not_unpacked():
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 10 * 2**20)
    assert len(content) < 2**18
    tracemalloc.start()
    with pytest.raises(DataError, match="larger than 1 MB"):
        unpacked(content, SMALL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 2**20  # of 40


def test_gzip_in_gzip_and_damaged_gzip():
    with pytest.raises(FileFormatError, match="inside a gzip"):
        unpacked(gzip.compress(gzip.compress(CSV)), SMALL)
    with pytest.raises(FileFormatError, match="damaged"):
        unpacked(gzip.compress(CSV)[:-20], SMALL)


def test_a_workbook_that_unpacks_to_too_much():
    content = with_sheet(padding=101 * 2**20)
    assert len(content) < 2**20
    with pytest.raises(DataError, match=r"bomb\.xlsx: Unpacked, the file is larger than 100 MB"):
        table_of("bomb.xlsx", content, most=50_000)


@pytest.mark.parametrize("quotes", ['"', "'"])
def test_a_sheet_with_two_cells_far_apart(quotes):
    """openpyxl fills in what is between: seventeen thousand million cells."""
    far = [f'<row r="{row}"><c r="{cell}"><v>1</v></c></row>' for row, cell in ((1, "XFD1"), (1048576, "A1048576"))]
    with pytest.raises(DataError, match="down to row 1048576 and across 16384 columns"):
        table_of("bomb.xlsx", with_sheet(*far).replace(b'"', quotes.encode()), most=50_000)


def test_a_sheet_that_is_formatted_down_to_its_last_row_is_read():
    cells = [["t", "x", "y"], ["a", "1", "2"], ["a", "2", "3"]]
    rows = [
        f'<row r="{place}">'
        + "".join(
            f'<c r="{letter}{place}" t="inlineStr"><is><t>{text}</t></is></c>'
            for letter, text in zip("ABC", row, strict=True)
        )
        + "</row>"
        for place, row in enumerate(cells, start=1)
    ]
    table = table_of("long.xlsx", with_sheet(*rows, '<row r="200000"><c r="C200000"/></row>'), most=50_000)
    assert table.shape == (2, 3)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": pa.array(np.zeros(101))}, "101 rows, more than 100"),
        ({f"c{place}": [1.0] for place in range(21)}, "21 columns, more than 20"),
        ({"a": [[1.0] * 1000]}, "holds lists"),
        ({"a": pa.DictionaryArray.from_arrays(pa.array([0] * 50), ["z" * 50_000])}, "larger than 1 MB"),
        ({"a": pa.array([b"z" * 50_000] * 50, type=pa.binary(50_000))}, "larger than 1 MB"),
        ({"a": pa.array(["z" * 20_000 + str(k) for k in range(60)])}, "larger than 1 MB"),
    ],
)
def test_a_parquet_file_that_unpacks_to_too_much(columns, words):
    content = in_parquet(columns)
    assert len(content) < 20_000
    with pytest.raises(DataError, match=words):
        unpacked(content, SMALL)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["x", None] * 50, "note": ["y" * 5000, None] * 50},
        {"a": pa.array(["x", "y"]).dictionary_encode(), "b": [1.5, None]},
        {"a": pa.array([b"ab", b"cd"], type=pa.binary(2)), "b": [True, False]},
    ],
)
def test_an_honest_one_is_not_refused(columns):
    assert unpacked(in_parquet(columns), SMALL) == in_parquet(columns)


def test_a_text_with_more_lines_or_columns_than_make_sense():
    with pytest.raises(DataError, match="more than 100 rows"):
        unpacked(b"a,b\n" + b"1,2\n" * 1001, SMALL)
    with pytest.raises(DataError, match="21 columns, more than 20"):
        unpacked(b"a title\n" + b";".join(b"c" for _ in range(21)), SMALL)
    lines = b"a,b\n" + b'x,"' + b"\n" * 900 + b'"\n'
    assert unpacked(lines, SMALL) == lines


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b", b"PK\x03\x04", b"PAR1", b"PAR1PAR1", b"\xff\xfe\x00", b"\n" * 99]
)
def test_a_damaged_file_is_refused_in_words(content):
    with pytest.raises(HeadstartError, match=r"^a\.csv: [A-Z]"):
        table_of("a.csv", content, most=100)


# ---------------------------------------------------------------------- roles


def test_roles_are_guessed():
    view = intake(archive(), Choice())
    assert {each["name"]: each["role"] for each in view["columns"]} == CHOSEN
    assert (view["problem"], view["errors"], view["rows"], view["used_rows"]) == (None, 0, 24, 24)
    assert view["tasks"] == [{"labels": [f"P{place}"], "rows": 6} for place in range(4)]


def test_labels_that_never_change_or_hardly_recur_are_not_guessed_to_name_the_task():
    names = np.random.default_rng(0).permutation([f"R{row:03}" for row in range(23)] + ["R000"])
    table = archive().assign(run=names, resin="PP", operator=np.tile(["ann", "bob", "cem"], 8))
    guessed = {each["name"]: each["role"] for each in intake(table, Choice())["columns"]}
    assert guessed == CHOSEN | {"run": "ignore", "resin": "ignore", "operator": "general"}


def test_tasks_of_a_single_row_are_no_good_news(tmp_path):
    table = archive().assign(run=[f"R{row:03}" for row in range(24)])
    view = intake(table, Choice(roles=CHOSEN | {"run": "general"}))
    assert (len(view["tasks"]), view["lone_tasks"]) == (24, 24)
    assert intake(table, Choice(roles=CHOSEN))["lone_tasks"] == 0
    visitor = Visitor(tmp_path / "headstart.db")
    page = visitor.drop("runs.csv", table.to_csv(index=False).encode()).headers["location"]
    roles = {f"role-{place}": role for place, role in enumerate([*CHOSEN.values(), "general"])}
    part = visitor.post(page, data={"word": visitor.word(), **roles}, headers={"hx-request": "true"}).text
    assert "24 of these have a single row" in part
    assert "Ready" not in part


def test_what_the_user_chose_stays():
    view = intake(archive(), Choice(roles={"angle_deg": "ignore", "speed_rpm": "objective"}, goal="minimize"))
    assert {each["name"]: each["role"] for each in view["columns"]} == CHOSEN | {
        "angle_deg": "ignore",
        "speed_rpm": "objective",
        "head_m": "input",
    }
    assert view["goal"] == "minimize"


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"head_m": "ignore"}, "Choose one column as the objective; chosen: none"),
        ({"angle_deg": "objective"}, "chosen: 'angle_deg', 'head_m'"),
        ({"pump": "ignore"}, "names the task"),
        ({"speed_rpm": "ignore", "angle_deg": "ignore"}, "at least one column as an input"),
    ],
)
def test_what_is_missing_is_said(roles, words):
    chosen = Choice(roles=CHOSEN | roles)
    with pytest.raises(ProblemError, match=words):
        roles_of(archive(), chosen)
    assert re.search(words, intake(archive(), chosen)["problem"])


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"low": "10"}, "a low and a high bound"),
        ({"low": "ten", "high": "40"}, "'ten': write a number"),
        ({"low": "40", "high": "10"}, "angle_deg"),
        ({"low": "nan", "high": "40"}, "angle_deg"),
        ({"low": "-inf", "high": "inf"}, "angle_deg"),
        ({"low": "0", "high": "1e999"}, "angle_deg"),
        ({"low": "0", "high": "40", "step": "0"}, "angle_deg"),
    ],
)
def test_bounds_that_are_none(typed, words):
    view = intake(archive(), Choice(roles=CHOSEN, bounds={"angle_deg": typed}))
    assert re.search(words, view["problem"])
    assert view["columns"][2]["bounds"] == {"low": "", "high": "", "step": ""} | typed  # to be corrected


def test_bounds_with_a_decimal_comma_and_a_step():
    typed = {"low": "9,5", "high": "40", "step": "0,5"}
    assert roles_of(archive(), Choice(CHOSEN, {"angle_deg": typed})).problem.inputs["angle_deg"] == (9.5, 40.0, 0.5)


def test_a_form_says_only_what_there_is():
    form = {"role-0": "general", "role-1": "root", "role-9": "input", "low-1": " 5 ", "goal": "ruin", "unknown": "x"}
    choice = Choice.of_form(form, ["a", "b"])
    assert choice == Choice({"a": "general"}, {"b": {"low": "5", "high": "", "step": ""}}, "maximize", False)


def test_findings_stand_at_their_cells():
    frame = archive().astype(object)
    frame.loc[3, "angle_deg"] = "2O"
    frame.loc[5, "speed_rpm"] = None
    table = table_of("a.csv", frame.to_csv(index=False).encode(), most=100)
    view = intake(table, Choice(roles=CHOSEN))
    cells = {line["row"]: line["cells"] for line in view["cells"]}
    assert cells[5][2]["text"] == "2O"
    assert cells[5][2]["finding"]["kind"] == "error"
    assert cells[7][1] == {"text": "", "finding": cells[7][1]["finding"]}
    assert "empty" in cells[7][1]["finding"]["message"]
    assert view["errors"] == 1
    assert "row 7" in view["problem"]
    dropped = intake(table.drop(index=5), Choice(roles=CHOSEN, drop_incomplete=True))
    assert (dropped["problem"], dropped["used_rows"]) == (None, 22)


def test_a_page_shows_the_first_rows_and_the_beginning_of_long_cells():
    frame = archive(pumps=10, rows=10).assign(note="n" * 1000)
    cells = intake(frame, Choice())["cells"]
    assert len(cells) == 60
    assert cells[0]["cells"][-1]["text"] == "n" * 200 + "…"


# ---------------------------------------------------------------------- the pages


def test_from_a_file_to_a_campaign(tmp_path):
    visitor = Visitor(tmp_path / "headstart.db")
    visitor.submit("/name", name="Zoë")
    page = visitor.drop("pumps.csv", CSV).headers["location"]
    assert "Ready: 24 rows of 4 tasks" in visitor.get(page).text
    roles = {f"role-{place}": role for place, role in enumerate(CHOSEN.values())}
    part = visitor.post(page, data={"word": visitor.word(), **roles}, headers={"hx-request": "true"})
    assert part.text.lstrip().startswith("<form")
    bounds = {"low-1": "500", "high-1": "3500", "low-2": "0", "high-2": "45", "step-2": "5"}
    made = visitor.submit(page, **roles, **bounds, goal="minimize", name="Pumps", action="create")
    assert (made.status_code, made.headers["location"]) == (303, "/campaigns/1?done=created")
    campaign = hs.Campaign.open("Pumps", store=visitor.store)
    assert dict(campaign.problem.inputs) == {"speed_rpm": (500.0, 3500.0), "angle_deg": (0.0, 45.0, 5.0)}
    assert (campaign.problem.goal, campaign.origin.author, len(campaign.data())) == ("minimize", "Zoë", 24)
    assert [job.kind for job in visitor.store.jobs.of(1)] == ["refresh"]
    gone = visitor.get(page)
    assert (gone.status_code, "no longer here" in gone.text) == (404, True)


def test_a_campaign_that_cannot_be_is_not_created(tmp_path):
    visitor = Visitor(tmp_path / "headstart.db")
    page = visitor.drop("pumps.csv", CSV).headers["location"]
    roles = {f"role-{place}": role for place, role in enumerate(CHOSEN.values())}
    for fields, words in (({"name": " "}, "needs a name"), ({"name": "a", "role-0": "ignore"}, "names the task")):
        refused = visitor.submit(page, action="create", **roles | fields)
        assert (refused.status_code, words in refused.text) == (422, True)
    assert visitor.store.campaigns() == []
    assert visitor.get(page).status_code == 200


def test_dropping_nothing(tmp_path):
    visitor = Visitor(tmp_path / "headstart.db")
    assert "Choose a file first" in visitor.submit("/new").text
    assert "Choose a file first" in visitor.submit("/new", file="text, not a file").text
    assert "The file is empty" in visitor.drop("a.csv", b"").text
