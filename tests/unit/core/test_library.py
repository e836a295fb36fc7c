"""The library of best known plans: every stored plan holds, and
only better ones get in.
"""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench import library as bench
from tools import library as tool

import ioopt
from ioopt import library
from ioopt.errors import ExitCode, UsageError
from ioopt.formats.native import dump_json
from ioopt.verdict import checked_value, past_bound

STORED = library.entries()
LONG = {
    "batch-io-mira-week-seed-1",
    "dagbench-random-xlarge",
    "flexgang-heavy-20",
    "flexgang-heavy-40",
    "flexgang-heavy-mix",
    "flow-groups",
    "gang-blue-pacific-like-100-seed-1",
    "gang-crowded-300",
    "mira-day",
}
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in LONG else name
    for name in sorted(STORED)
]


def test_there_are_ninety_of_all_families_in_two_megabytes() -> None:
    assert len(STORED) >= 90
    assert sum(entry.recipe.source is not None for entry in STORED.values()) >= 30
    families = {
        "replication",
        "batch-io",
        "io-requests",
        "gang",
        "gang-matrix",
        "flexible-gang",
    }
    assert {entry.kind for entry in STORED.values()} >= families
    assert (
        sum(path.stat().st_size for path in library.bundled_folder().iterdir())
        < 2_000_000
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_plan_is_worth_what_its_entry_says(name: str) -> None:
    entry = STORED[name]
    try:
        problem = entry.problem()
    except UsageError as error:  # a file of others
        pytest.skip(str(error))
    report = tool.report_of(problem, entry.plan)
    assert report.violations == ()
    value = checked_value(entry.measure, report)
    assert value == pytest.approx(entry.best.best, rel=1e-9)
    assert past_bound(entry.sense, value, entry.best.bound) is None
    for before, after in zip(entry.history, entry.history[1:], strict=False):
        assert entry.model_copy(update={"history": (before,)}).betters(after.best)


def alone(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "bundled_folder", lambda: Path(folder))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A library in which the best of held is 10 s: t0 and t1 on one node take
    2 s (see its story).
    """
    alone(str(tmp_path / "kept"), monkeypatch)
    entry = STORED["held"]
    worse = entry.history[0].model_copy(update={"best": 10.0, "bound": None})
    tool.write(entry.model_copy(update={"history": (worse,)}), str(tmp_path / "kept"))
    return str(tmp_path / "kept")


@pytest.fixture
def submitted(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that submits MinMin's plan of held with changed statements.

    It gives exit code, standard output and standard error.
    """

    def submit(**changes: object) -> tuple[int, str, str]:
        result = {**ioopt.solve("held", "minmin", seed=7).to_dict(), **changes}
        path = tmp_path / "result.json"
        path.write_text(dump_json(result))
        code = tool.main(["submit", "held", str(path), "--library", folder])
        told = capsys.readouterr()
        return code, told.out, told.err

    return submit


def test_a_better_plan_gets_in_and_the_next_is_refused(
    folder: str, run: Any, submitted: Any
) -> None:
    assert submitted()[0] == ExitCode.ANSWER
    entry = library.entries(folder)["held"]
    assert (entry.best.best, entry.best.solver, entry.best.seed) == (1.064, "minmin", 7)
    assert [found.best for found in entry.history] == [10.0, 1.064]
    assert os.listdir(folder) == ["held.json"]
    before = Path(folder, "held.json").read_bytes()
    code, _, err = submitted()
    assert code == ExitCode.USAGE and "1.064 is not better than 1.064" in err
    assert err.count("\n") == 1
    assert Path(folder, "held.json").read_bytes() == before
    code, out, _ = run(
        "instances", "best", "held", "--library", folder, "--format", "json"
    )
    assert code == 0 and json.loads(out)["plan"] == entry.plan


def test_what_a_result_states_counts_for_nothing(folder: str, submitted: Any) -> None:
    code, out, _ = submitted(metrics={"makespan_seconds": 0.5})
    assert code == ExitCode.VIOLATIONS and "makespan_seconds" in out
    assert library.entries(folder)["held"].best.best == 10.0


def test_stored_plans_are_verified(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["verify", "held", "--library", folder]
    assert tool.main(words) == ExitCode.VIOLATIONS  # stated: 10 s
    assert capsys.readouterr().out.count("the entry states 10.0\n") == 1
    tool.write(STORED["held"], folder)
    assert tool.main(words) == ExitCode.ANSWER
    assert tool.main(["verify", "nothing", "--library", folder]) == ExitCode.USAGE


def test_a_value_past_a_proven_bound_is_no_best(folder: str) -> None:
    entry = library.entries(folder)["held"]
    bounded = entry.best.model_copy(update={"bound": 2.0})
    entry = entry.model_copy(update={"history": (bounded,)})
    same, found = tool.submit(
        entry, ioopt.solve("held", "minmin").to_dict(), "result", folder
    )
    assert same == entry and [item.rule for item in found] == ["bound"]


@pytest.mark.parametrize(
    ("solver", "settings", "words"),
    [
        ("no-congestion", {}, "breaks a rule of the machine"),
        ("fill", {"loop": "open"}, "changes the question"),
        ("fill", {"ef": 0.5}, "changes the question"),
    ],
)
def test_answers_to_other_questions_are_refused(
    solver: str, settings: dict[str, Any], words: str, tmp_path: Path
) -> None:
    result = ioopt.solve("two-writers", solver, settings=settings).to_dict()
    with pytest.raises(UsageError, match=words):
        tool.submit(STORED["two-writers"], result, "result", str(tmp_path))


def test_a_library_of_special_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone(str(tmp_path), monkeypatch)
    os.mkfifo(tmp_path / "held.json")
    assert library.entries() == {}
    with pytest.raises(UsageError, match="is not a regular file"):
        tool.write(STORED["held"], str(tmp_path))
    target = tmp_path / "elsewhere"
    target.write_text("mine")
    (tmp_path / "rounds4.json").symlink_to(target)
    with pytest.raises(UsageError, match="is not a regular file"):
        tool.write(STORED["rounds4"], str(tmp_path))
    assert target.read_text() == "mine"


def test_where_the_library_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(library.FOLDER_VARIABLE, raising=False)
    assert library.writable_folder() == library.bundled_folder()  # of a checkout
    alone(
        str(tmp_path / "site-packages" / "ioopt" / "instances" / "library"), monkeypatch
    )
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert library.writable_folder() == tmp_path / "ioopt" / "library"
    monkeypatch.setenv(library.FOLDER_VARIABLE, str(tmp_path / "mine"))
    assert library.writable_folder() == tmp_path / "mine"
    assert library.writable_folder("given") == Path("given")


def test_the_better_of_two_entries_counts(tmp_path: Path) -> None:
    entry = STORED["held"]
    for value, expected in ((0.5, 0.5), (3.0, entry.best.best)):
        other = entry.best.model_copy(update={"best": value})
        tool.write(entry.model_copy(update={"history": (other,)}), str(tmp_path))
        assert library.entries(str(tmp_path))["held"].best.best == expected


def test_an_entry_of_a_file_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    """Listed without the file; read where it is; refused without it, and
    where it is another.
    """
    text = dump_json({"task_graph": {"tasks": [{"name": "a", "cost": 2}]}})
    source = library.Source(
        file="g.json",
        address="https://example.org/graph.json",
        licence="MIT",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        importer="saga",
    )
    recipe = library.Recipe(
        source=source, settings={"machine": {"nodes": 3, "disk": "1GB"}}
    )
    folder, elsewhere = tmp_path / "kept", tmp_path / "elsewhere"
    alone(str(folder), monkeypatch)
    tool.write(
        STORED["held"].model_copy(update={"name": "g", "recipe": recipe}), str(folder)
    )
    monkeypatch.delenv(library.SOURCES_VARIABLE)
    words = ("instances", "best", "g", "--library", folder)
    assert run(*words)[0] == run("instances", "best", "--library", folder)[0] == 0
    code, _, errors = run(*words, "-o", "made.json")
    assert code == ExitCode.USAGE and errors.count("\n") == 1
    assert (
        f"g.json is not here: save {source.address} as {folder}/sources/g.json"
        in errors
    )
    for place in (elsewhere, folder / "sources"):
        place.mkdir()
        (place / "g.json").write_text(text)
        monkeypatch.setenv(
            library.SOURCES_VARIABLE, f"{tmp_path}{os.pathsep}{elsewhere}"
        )
        assert run(*words, "-o", "made.json")[0] == 0
        (elsewhere / "g.json").unlink(missing_ok=True)
    assert library.entry_of("made.json", str(folder)).name == "g"
    (folder / "sources" / "g.json").write_text(text + " ")
    code, _, errors = run(*words, "-o", "made.json")
    assert code == ExitCode.USAGE and "its SHA-256 differs" in errors


def test_the_tables_of_the_page_are_those_of_the_entries() -> None:
    """`scripts/bench/library.py SECONDS --table` writes them; what plain solvers
    found is not judged.
    """
    page = bench.PAGE.read_text("utf-8").split(bench.MARK)[1]
    told: dict[str, list[list[str]]] = {}
    for section in page.split("\n### ")[1:]:
        title, *lines = [line for line in section.splitlines() if line]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        told[f"### {title}"] = [cells[: len(bench.HEAD)] for cells in rows[2:]]
    made: dict[str, list[list[str]]] = {}
    for entry in sorted(STORED.values(), key=lambda entry: entry.name):
        made.setdefault(bench.heading(entry), []).append(bench.row(entry))
    assert told == made


def test_an_entry_is_found_by_the_content_of_a_file(tmp_path: Path) -> None:
    entry = STORED["tiny-seed-1"]
    path = tmp_path / "any.json"
    path.write_text(dump_json(entry.problem().model_dump(mode="json", by_alias=True)))
    assert library.entry_of(str(path)) == entry
    with pytest.raises(UsageError, match="did you mean 'tiny-seed-1'"):
        library.entry_of("tiny-seed1")
