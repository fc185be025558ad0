"""The commands that store nothing."""

import json
import os
import pty
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.conftest import table

import headstart as hs
from headstart import cli
from headstart.cli.functions import load_function
from headstart.cli.options import settings_of, task_of
from headstart.errors import ProblemError

ROLES = ("--objective", "density", "--maximize")
PROBLEM = hs.Problem(
    inputs={"power_w": (100.0, 300.0, 1.0), "speed": (0.0, 1.0)}, general=["alloy"], objective="density"
)


def test_suggest_is_the_library_in_one_command(headstart, archive):
    answer = headstart("suggest", archive, *ROLES, "--task", "alloy=Ti-6242", "-n", 2, "--json")
    assert answer.code == 0, answer.err
    frame = table()
    problem = hs.Problem(
        inputs={
            "power_w": (float(frame["power_w"].min()), float(frame["power_w"].max()), 1.0),
            "speed": (frame["speed"].min(), frame["speed"].max()),
        },
        general=["alloy"],
        objective="density",
    )
    assert hs.Problem.from_dict(answer.json["problem"]) == problem
    expected = hs.fit(frame, problem, seed=0).suggest({"alloy": "Ti-6242"}, n=2)
    assert pd.DataFrame(answer.json["suggestions"]).to_dict() == expected.to_dict()
    assert answer.json["score"] == "expected best"
    assert answer.json["headstart"] == hs.__version__
    assert answer.json["task"] == {"alloy": "Ti-6242"}
    assert answer.err == ""


def test_suggest_says_what_it_inferred(headstart, archive):
    answer = headstart("suggest", archive, *ROLES, "--task", "alloy=Ti-6242")
    assert answer.code == 0
    assert "'power_w' is an input from" in answer.err
    assert "in whole numbers" in answer.err
    assert "Next for alloy Ti-6242 (none measured yet); score: mean" in answer.out
    again = headstart("suggest", archive, *ROLES, "--task", "Ti-1")  # the only general input needs no name
    assert "Next for alloy Ti-1 (5 measured); score: expected improvement" in again.out


def test_roles_can_be_given(headstart, archive):
    flags = ("--general", "alloy", "--input", "speed=0.2:0.8:0.1", "--ignore", "power_w", "--task", "alloy=new")
    answer = headstart("suggest", archive, *ROLES, *flags, "--json")
    assert answer.json["problem"]["inputs"] == [["speed", [0.2, 0.8, 0.1]]]
    assert answer.json["suggestions"][0]["speed"] in [pytest.approx(0.2 + 0.1 * k) for k in range(7)]


def test_minimize_and_seed_and_kernel(headstart, archive):
    flags = ("--objective", "density", "--minimize", "--task", "alloy=new", "--json")
    low = headstart("suggest", archive, *flags).json
    assert low["problem"]["goal"] == "minimize"
    high = headstart("suggest", archive, *ROLES, "--task", "alloy=new", "--json").json
    assert low["suggestions"][0]["mean"] < high["suggestions"][0]["mean"]
    smooth = headstart("suggest", archive, *flags, "--kernel", "rbf", "--seed", 3).json
    assert (smooth["seed"], smooth["kernel"], smooth["fitted_kernel"]) == (3, "rbf", "rbf")
    assert (low["kernel"], low["fitted_kernel"]) in [("auto", "rbf+tasks"), ("auto", "matern52+tasks")]
    assert smooth["suggestions"] != low["suggestions"]


def test_candidates_pending_and_fixed(headstart, archive, tmp_path):
    candidates = pd.DataFrame({"power_w": [120, 200, 280], "speed": [0.1, 0.3, 0.9]})
    candidates.to_excel(tmp_path / "possible.xlsx", index=False)
    first = headstart("suggest", archive, *ROLES, "-t", "new", "--candidates", "possible.xlsx", "--json").json
    assert first["score"] == "expected share of the range"
    row = first["suggestions"][0]["row"]  # as the spreadsheet shows it: the header is row 1
    assert candidates.loc[row - 2, "speed"] == first["suggestions"][0]["speed"]
    candidates.iloc[[row - 2]].to_csv(tmp_path / "running.csv", index=False)
    flags = ("--candidates", "possible.xlsx", "--pending", "running.csv", "--json")
    second = headstart("suggest", archive, *ROLES, "-t", "new", *flags).json
    assert second["suggestions"][0]["row"] != row
    fixed = headstart("suggest", archive, *ROLES, "-t", "new", "--fix", "speed=0.25", "--json").json
    assert fixed["suggestions"][0]["speed"] == 0.25
    sampled = headstart("suggest", archive, *ROLES, "-t", "new", "-n", 2, "--acquisition", "thompson", "--json").json
    assert len(sampled["suggestions"]) == 2


def test_output_files(headstart, archive, tmp_path):
    answer = headstart("suggest", archive, *ROLES, "-t", "new", "--output", "next.xlsx")
    assert "Wrote next.xlsx" in answer.err
    assert list(hs.read_table(tmp_path / "next.xlsx").columns) == [
        "power_w",
        "speed",
        "mean",
        "sd",
        "lower",
        "upper",
        "score",
    ]


def test_predict(headstart, archive, tmp_path):
    rows = table().drop(columns="density").head(4)
    rows.to_csv(tmp_path / "planned.csv", index=False)
    answer = headstart("predict", archive, "planned.csv", *ROLES, "--interval", 0.5, "--json")
    assert answer.code == 0, answer.err
    problem = hs.Problem.from_dict(answer.json["problem"])
    expected = hs.fit(table(), problem, seed=0).predict(rows, interval=0.5)
    got = pd.DataFrame(answer.json["predictions"])
    np.testing.assert_allclose(got[["mean", "sd", "lower", "upper"]], expected)
    surer = headstart("predict", archive, "planned.csv", *ROLES, "--noise-free", "--json").json["predictions"]
    assert surer[0]["sd"] < got["sd"][0]
    text = headstart("predict", archive, "planned.csv", *ROLES)
    assert "80% between lower and upper" in text.out
    bad = headstart("predict", archive, "planned.csv", *ROLES, "--input", "density2")
    assert bad.code == 1
    assert "density2" in bad.err


def test_inspect(headstart, archive, tmp_path):
    answer = headstart("inspect", archive)
    assert answer.code == 0
    assert "15 rows, 4 columns" in answer.out
    assert "3 tasks" in answer.out
    assert "Nothing looks wrong" in answer.out
    frame = table().astype({"speed": object})
    frame.loc[3, "speed"] = "fast"
    frame.to_csv(tmp_path / "bad.csv", index=False)
    bad = headstart("inspect", "bad.csv", "--json")
    assert bad.code == 1
    (finding,) = [each for each in bad.json["findings"] if each["kind"] == "error"]
    assert (finding["row"], finding["column"]) == (5, "speed")
    assert "What looks wrong" in headstart("inspect", "bad.csv").out


def test_optimize(headstart, archive, tmp_path):
    (tmp_path / "simulator.py").write_text(
        "import math\n\ndef density(power_w, speed):\n    return math.sin(5 * speed) + power_w / 300\n"
    )
    flags = (*ROLES, "-t", "new", "--budget", 3)
    answer = headstart("optimize", "simulator.py:density", archive, *flags, "--output", "runs.csv", "--json")
    assert answer.code == 0, answer.err
    best = answer.json["best"]
    assert best["density"] == max(row["density"] for row in answer.json["history"])
    assert best["density"] > 1.5
    assert len(hs.read_table(tmp_path / "runs.csv")) == 3
    (tmp_path / "talks.py").write_text("def density(speed):\n    print('at', speed)\n    return speed\n")
    assert headstart("optimize", "talks.py:density", archive, *flags, "--json").json["best"]["density"] > 0
    text = headstart("optimize", "simulator:density", archive, *flags)
    assert "Best density:" in text.out
    (tmp_path / "breaks.py").write_text(
        "calls = []\n"
        "def density(power_w, speed):\n"
        "    calls.append(speed)\n"
        "    if len(calls) > 1: raise OSError('no licence')\n"
        "    return 1.0\n"
    )
    broken = headstart("optimize", "breaks.py:density", archive, *flags, "--output", "kept.csv")
    assert broken.code == 1
    assert "no licence" in broken.err
    assert len(hs.read_table(tmp_path / "kept.csv")) == 1
    (tmp_path / "nonsense.py").write_text("def density(:\n")
    assert "not Python" in headstart("optimize", "nonsense.py:density", archive, *flags).err


def test_benchmark_runs_what_is_asked_for(headstart, tmp_path):
    quick = ("benchmark", "--smoke", "--only", "unrelated", "--method", "random", "--workers", 1)
    alone = headstart(*quick)
    assert (alone.code, alone.out) == (0, ""), alone.err
    assert "1 jobs, 1 without a result." in alone.err
    assert "The page is written when two methods have results on the same problem." in alone.err
    assert "Without results, Headstart: everywhere." in alone.err
    both = headstart(*quick, "--method", "random forest")
    assert both.code == 0, both.err
    written = [Path(path) for path in both.out.split()]
    assert written[-1] == Path("headstart-smoke/README.md")
    assert all(path.stat().st_size > 1000 for path in written)
    assert "| random forest |" in written[-1].read_text()


@pytest.mark.parametrize(
    ("name", "words"),
    [("nothing", "MODULE:FUNCTION"), ("gone.py:f", "no file gone.py"), ("no_such_module:f", "no module")],
)
def test_functions_that_are_none(name, words):
    with pytest.raises(ProblemError, match=words):
        load_function(name)


def test_a_function_spelled_wrong():
    with pytest.raises(ProblemError, match="Did you mean 'sqrt'"):
        load_function("math:sqrrt")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("suggest", "archive.csv", "-t", "new"), 2, "--objective"),
        (("suggest", "archive.csv", "-y", "density", "-t", "new"), 2, "--maximize"),
        (("suggest", "archive.csv", *ROLES), 2, "--task"),
        (("sugest",), 2, "sugest"),
        (("suggest", "archiv.csv", *ROLES, "-t", "new"), 1, "Did you mean 'archive.csv'"),
        (("suggest", "archive.csv", "-y", "densty", "--maximize", "-t", "new"), 1, "Did you mean 'density'"),
        (("suggest", "archive.csv", *ROLES, "-t", "aloy=new"), 1, "no column 'aloy'. Did you mean 'alloy'"),
        (("suggest", "archive.csv", *ROLES, "-t", "new", "-i", "speed=1"), 1, "COLUMN=LOW:HIGH"),
        (("suggest", "archive.csv", *ROLES, "-t", "new", "--fix", "speed"), 1, "--fix speed: write COLUMN=NUMBER"),
        (("suggest", "archive.csv", *ROLES, "-t", "new", "--fix", "speed=9"), 1, "'speed' cannot be fixed at 9"),
        (("suggest", "archive.csv", *ROLES, "-t", "new", "--device", "cuda"), 1, "needs a GPU"),
        (("suggest", "archive.csv", *ROLES, "-t", "new", "--device", "cudaa"), 1, "'cpu' or 'cuda'"),
        (("suggest", "archive.csv", *ROLES, "-t", "new", "--kernel", "foo"), 1, "matern52"),
        (("suggest", "archive.csv", *ROLES, "-t", "new", "-o", "no/folder.csv"), 1, "no folder no"),
        (("suggest", "archive.csv", *ROLES, "-t", "new", "-o", "next.doc"), 1, ".xlsx"),
        (("benchmark", "--only", "toy"), 1, "no problem 'toy': choose from 'toy-fresh'"),
        (("benchmark", "--method", "baybe"), 1, "Did you mean 'BayBE'"),
        (("campaign", "list"), 3, "no database headstart.db"),
        (("campaign", "show", "x", "--store", "mysql://a/b"), 3, "postgresql://user@host/name"),
    ],
)
def test_errors_go_to_stderr_with_the_next_step(headstart, archive, arguments, code, words):
    answer = headstart(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert words in " ".join(answer.err.replace("│", " ").split())
    assert "Traceback" not in answer.err


def test_bad_cells_are_named_with_file_row_and_column(headstart, tmp_path):
    frame = table().astype({"density": object})
    frame.loc[7, "density"] = ""
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    answer = headstart("suggest", "gaps.csv", *ROLES, "-t", "new")
    assert answer.code == 1
    assert "gaps.csv" in answer.err
    assert "row 9" in answer.err
    assert "'density'" in answer.err
    mended = headstart("suggest", "gaps.csv", *ROLES, "-t", "new", "--drop-incomplete")
    assert mended.code == 0
    assert "with an empty cell" in mended.err
    assert "row 9" in mended.err


def test_dropping_a_row_does_not_lose_a_column(headstart, tmp_path):
    frame = table().astype({"speed": object})
    frame.loc[3, "speed"] = ""
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    answer = headstart("suggest", "gaps.csv", *ROLES, "-t", "new", "--drop-incomplete", "--json")
    assert [name for name, _ in answer.json["problem"]["inputs"]] == ["power_w", "speed"]
    assert answer.json["rows"] == 14


def test_a_sample_keeps_every_row_of_the_task(headstart, archive):
    whole = headstart("suggest", archive, *ROLES, "-t", "Ti-1", "--json").json
    answer = headstart("suggest", archive, *ROLES, "-t", "Ti-1", "--sample", 7, "--json")
    assert answer.json["rows"] == 7
    assert answer.json["problem"] == whole["problem"]  # bounds are those of the whole file
    assert "(5 measured)" in headstart("suggest", archive, *ROLES, "-t", "Ti-1", "--sample", 7).out


def test_an_input_called_row(headstart, tmp_path):
    frame = table().rename(columns={"speed": "row"})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    answer = headstart("suggest", "rows.csv", *ROLES, "-t", "new", "--candidates", "rows.csv", "--json", "-g", "alloy")
    assert answer.code == 1  # candidates of other tasks: said, not crashed
    frame.drop(columns="alloy").to_csv(tmp_path / "list.csv", index=False)
    answer = headstart("suggest", "rows.csv", *ROLES, "-t", "new", "--candidates", "list.csv", "--json")
    assert {"row", "row of the file"} <= set(answer.json["suggestions"][0])


def test_a_task_written_as_a_number(headstart, tmp_path):
    table().assign(alloy=np.repeat([1.0, 2.0, 3.0], 5)).to_csv(tmp_path / "numbers.csv", index=False)
    answer = headstart("suggest", "numbers.csv", *ROLES, "-t", "alloy=2")
    assert "(5 measured)" in answer.out


def test_a_huge_archive_is_refused_with_a_way_out(headstart, tmp_path):
    table(tasks=40, rows=100).to_csv(tmp_path / "large.csv", index=False)
    answer = headstart("suggest", "large.csv", *ROLES, "-t", "new")
    assert answer.code == 1
    assert "4000 rows" in answer.err
    assert "--sample 1000" in answer.err
    sampled = headstart("suggest", "large.csv", *ROLES, "-t", "new", "--sample", 40, "--json")
    assert sampled.json["rows"] == 40


def test_data_warnings_are_shown_and_others_are_not(headstart, tmp_path, capsys, monkeypatch):
    frame = table()
    frame.loc[0, "alloy"] = "ti-0"
    frame.to_csv(tmp_path / "spelling.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        answer = headstart("suggest", "spelling.csv", *ROLES, "-t", "new")
        assert "Warning: 'alloy' has the labels" in answer.err
        cli._show_warning("of a library", DeprecationWarning)
    assert capsys.readouterr().err == ""


def test_tasks_and_settings_in_words():
    problem = hs.Problem(inputs=["x"], general=["alloy", "machine"], objective="y")
    assert task_of(["machine=M=1", "alloy=Ti"], problem) == {"alloy": "Ti", "machine": "M=1"}
    with pytest.raises(ProblemError, match="Which task\\? Add --task machine=LABEL"):
        task_of(["alloy=Ti"], problem)
    with pytest.raises(ProblemError, match="Did you mean 'machine'"):
        task_of(["alloy=Ti", "machin=M1"], problem)
    assert settings_of(["a=b=1.5"], "--fix") == {"a=b": 1.5}


def in_a_terminal(arguments, folder, columns=120) -> str:
    """What a user with a terminal sees."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    process = subprocess.Popen(arguments, stdout=theirs, stderr=theirs, cwd=folder, env=environment, close_fds=True)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert process.wait() == 0, seen.decode()
    return seen.decode()


def test_progress_on_a_terminal_and_none_in_a_pipe(archive, tmp_path):
    command = [sys.executable, "-m", "headstart", "suggest", str(archive), *ROLES, "-t", "new"]
    seen = in_a_terminal(command, tmp_path)
    assert "Fitting" in seen
    assert "┃" in seen or "│" in seen
    piped = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "Fitting" not in piped.stderr + piped.stdout
    assert "\x1b" not in piped.stderr + piped.stdout
    assert "│" not in piped.stdout


def test_a_table_too_wide_for_the_terminal_breaks_no_number(archive, tmp_path):
    command = [sys.executable, "-m", "headstart", "suggest", str(archive), *ROLES, "-t", "new"]
    seen = in_a_terminal(command, tmp_path, columns=40)
    assert "  power_w: " in seen
    assert "┃" not in seen


def test_text_columns_can_join_the_task(headstart, tmp_path):
    table().assign(machine=["M1", "M2", "M1", "M2", "M1"] * 3).to_csv(tmp_path / "two.csv", index=False)
    one = headstart("suggest", "two.csv", *ROLES, "-t", "alloy=new")
    assert "'machine' is not used: it holds text; --task machine=LABEL makes it part of the task." in one.err
    both = headstart("suggest", "two.csv", *ROLES, "-t", "alloy=new", "-t", "machine=M1", "-g", "alloy", "--json")
    assert both.json["problem"]["general"] == ["alloy", "machine"]


def test_a_reader_that_stops_early(archive, tmp_path):
    command = f"{sys.executable} -m headstart suggest {archive} {' '.join(ROLES)} -t new --json | head -n 1"
    run = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert run.stdout == "{\n"
    assert "Traceback" not in run.stderr


HEAVY = {"torch", "botorch", "gpytorch", "pandas", "numpy", "sqlalchemy", "matplotlib", "scipy"}


@pytest.mark.parametrize("arguments", [["--help"], ["suggest", "--help"], ["campaign", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    script = (
        f"import sys; sys.argv = ['headstart', *{arguments!r}]\n"
        "from headstart.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "import json; print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(json.loads(run.stderr))
    assert run.stdout


def test_telling_does_not_load_torch(archive, tmp_path):
    hs.Campaign.create("c", archive, PROBLEM, store=tmp_path / "headstart.db")
    script = (
        "import sys; sys.argv = ['headstart', 'campaign', 'observe', 'c', '--value', '1', '-t', 'new', '--at', "
        "'power_w=200', '--at', 'speed=0.5']\n"
        "from headstart.cli import main\n"
        "main()\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def test_the_reference_is_complete_and_up_to_date():
    from runpy import run_path

    script = run_path(str(Path(__file__).parents[2] / "docs" / "make_cli_page.py"))
    page = script["PAGE"].read_text(encoding="utf-8")
    assert page == script["page"](), "run `make docs`"
    for command in ("suggest", "predict", "inspect", "optimize", "demo", "paper", "benchmark"):
        assert f"## `headstart {command}`" in page
    for command in ("create", "list", "show", "suggest", "observe", "withdraw", "retract", "export", "report"):
        assert f"### `headstart campaign {command}`" in page


def test_shell_completion(tmp_path):
    environment = {
        **os.environ,
        "_HEADSTART_COMPLETE": "complete_bash",
        "COMP_WORDS": "headstart ins",
        "COMP_CWORD": "1",
    }
    program = Path(sys.executable).parent / "headstart"
    run = subprocess.run([program], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert run.stdout.split() == ["inspect"]
