"""Bad input ends in exit 2 and one line that names the file, the
item and what is wrong.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from batch_io_traces import by_hand
from replication_samples import document

from ioopt.cli.main import main
from ioopt.errors import InstanceError
from ioopt.formats.native import reading, shown, validate
from ioopt.loading import load
from ioopt.problems.schedules import ReplicationSchedule


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which a command ends that exits 2."""
    capsys.readouterr()
    assert main(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


TINY = document(1, {"f": 10}, {"t": (1.0, "f")}, 1e6, 1e8)
NETWORK = TINY["network"]


def test_ids_name_the_form_they_have() -> None:
    """An id may be a number or text: text that is too long is not
    told to be a number.
    """
    batch = by_hand([("x" * 5000, 0, 1, 1, [(1, 1)])])
    with pytest.raises(
        InstanceError, match=r"\)\.id: must have 4096 characters or less, not"
    ):
        load(batch)


SMALL = {
    "cycle3": "minmin",
    "two-writers": "adaptive",
    "gang-figure-5": "gs",
    "quantum-plain": "quantum-greedy",
    "flexgang-tiny": "greedy",
    "gang-figure-7": "gs",
    "two-writers-now": "adaptive",
}
DRAWN = {
    "two-writers": ["--set", "rates=yes"],
    "gang-figure-5": ["--set", "history=yes"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("results")
    found = {}
    for name, solver in SMALL.items():
        target = folder / f"{name}.json"
        options = [*DRAWN.get(name, []), "-o", str(target), "-q"]
        assert main(["solve", name, "--solver", solver, *options]) == 0
        found[name] = json.loads(target.read_text())
    return found


def hurt(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy of *document* with the value at *place* replaced, or removed
    where it is Ellipsis.
    """
    copied = json.loads(json.dumps(document))
    node = copied
    for key in place[:-1]:
        node = node[key]
    if value is ...:
        del node[place[-1]]
    else:
        node[place[-1]] = value
    return copied


@pytest.mark.parametrize(
    ("name", "place", "value", "says"),
    [
        (
            "cycle3",
            ("schedule", "tasks", 0, "start_seconds"),
            ...,
            "start_seconds: missing",
        ),
        (
            "cycle3",
            ("schedule", "tasks", 0, "end_seconds"),
            "x",
            "end_seconds: must be a finite number",
        ),
        (
            "cycle3",
            ("schedule", "transfers"),
            "x",
            "schedule: transfers: must be a list",
        ),
        (
            "cycle3",
            ("schedule", "tasks", 1),
            "x",
            "schedule: tasks[1]: must be an object",
        ),
        (
            "cycle3",
            ("schedule", "tasks", 0, "node"),
            [],
            "node: input should be a valid string",
        ),
        ("cycle3", ("plan",), 1, "plan: input should be a valid dictionary"),
        ("cycle3", ("plan", "order", "n0"), 3, "plan: order.n0: must be a list, not 3"),
        ("two-writers", ("schedule", "jobs", 0, "io"), 5, "jobs[0] ("),
        ("two-writers", ("schedule", "jobs", 0, "io", 0, "rates"), [[1.0]], "rates[0]"),
        ("gang-figure-5", ("schedule", "jobs", 0), 1, "schedule: jobs[0]"),
        (
            "gang-figure-5",
            ("schedule", "updates", 0, "placed", 0, "rows"),
            ...,
            "rows: missing",
        ),
        (
            "gang-figure-5",
            ("schedule", "updates", 0, "placed", 0, "columns"),
            [10**12],
            "columns",
        ),
        ("gang-figure-7", ("plan", "jobs", 0, "columns"), [10**12], "plan: jobs[0] ("),
        ("quantum-plain", ("schedule", "slots", 0), True, "schedule: slots[0]"),
        ("quantum-plain", ("schedule", "slots", 0, "end_seconds"), None, "end_seconds"),
        ("flexgang-tiny", ("schedule", "rows"), ..., "schedule: rows: missing"),
        ("two-writers-now", ("plan", "grants"), [], "plan: grants: input should be"),
    ],
)
def test_results(
    name: str,
    place: tuple[Any, ...],
    value: Any,
    says: str,
    results: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(hurt(results[name], place, value)))
    commands = [["check", name, str(path)]]
    if name not in ("two-writers-now",):  # nothing is drawn of it
        commands.append(["plot", str(path), "-o", str(tmp_path / "out.svg")])
    if name in (
        "cycle3",
        "two-writers",
        "gang-figure-5",
        "quantum-plain",
        "flexgang-tiny",
    ):
        commands.append(["simulate", name, str(path)])
    for command in commands:
        assert says in refused(command, capsys), command


@pytest.mark.parametrize(
    "key", ["objective", "metrics", "plan", "bound", "objective_name"]
)
@pytest.mark.parametrize("whole", [True, False])
def test_statements_of_results(
    key: str,
    whole: bool,
    results: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also of an object that is no whole result, such as another program writes."""
    path = tmp_path / "result.json"
    document = {**results["cycle3"], key: [["x"]]}
    path.write_text(json.dumps(document if whole else {**document, "format": None}))
    wanted = (
        "must be a finite number"
        if key in ("objective", "bound")
        else "input should be"
    )
    assert f"{key}: {wanted}" in refused(["check", "cycle3", str(path)], capsys)


def test_what_does_not_hold_together_is_no_internal_error(
    results: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every part has its form, but the plan is of jobs that the
    instance does not have.
    """
    path = tmp_path / "result.json"
    plan = {
        **results["flexgang-tiny"]["plan"],
        "loose": ["nobody"],
        "home": {"nobody": 0},
    }
    path.write_text(json.dumps({"plan": plan}))
    line = refused(["simulate", "flexgang-tiny", str(path)], capsys)
    assert "is inconsistent and cannot be used" in line and "no job 'nobody'" in line
    with (
        pytest.raises(InstanceError, match=r"a\.json: .*KeyError: 'x'"),
        reading("a.json"),
    ):
        {}["x"]


def test_own_schedules_have_their_form(results: dict[str, Any]) -> None:
    """What ioopt writes passes; a key that nothing reads is refused by its name."""
    schedule = results["cycle3"]["schedule"]
    read = validate(ReplicationSchedule, schedule, "result")
    assert len(read.tasks) == len(schedule["tasks"]) > 0
    with pytest.raises(InstanceError, match="more: unknown key"):
        validate(ReplicationSchedule, {**schedule, "more": 1}, "result")


def test_chains_beyond_computing() -> None:
    """Quanta whose law comes out as no number, or whose matrix is singular."""
    from ioopt.measure.quantum_chain import surface

    for on, off in ((0.001, 1e17), (1e-3, 1e300)):
        with pytest.raises(InstanceError, match="too far apart to compute with"):
            surface(on, off)


def test_gang_scheduler_takes_no_nonsense() -> None:
    """No call raises; what is no time is noted, and the matrix stays what it was."""
    from ioopt.embed import GangScheduler

    scheduler = GangScheduler({"nodes": 4, "levels": 2, "quantum_seconds": 200.0}, "gs")
    assert scheduler.arrive("a", [0, 1], 900.0, 1800.0, now=0.0)
    before = scheduler.matrix(0.0)
    assert scheduler.arrive("b", [2], 900.0, 1800.0, now=1.0)
    for now in (None, "x", float("nan"), 1e400, [], True):
        assert scheduler.matrix(now) == before  # type: ignore[arg-type]
    assert "not a number of seconds" in scheduler.notes[-1]
    assert not scheduler.served("a", "x", None)  # type: ignore[arg-type]
    assert "ignored" in scheduler.notes[-1]
    assert not scheduler.arrive("c", [3], 900.0, 1800.0, now=float("inf"))
    assert len(scheduler.matrix(2.0, deadline="soon")) == 2  # type: ignore[arg-type]
    scheduler.depart("a", 3.0)
    assert [job["id"] for job in scheduler.matrix(None)] == ["b"]  # type: ignore[arg-type]


SWF_LINE = "1 0 -1 5e-321 1 -1 -1 1 100 -1 1 1 1 1 1 -1 -1 -1\n"
BATSIM = {
    "nb_res": 2,
    "jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "p", "walltime": 10}],
    "profiles": {"p": {"type": "delay", "delay": 5}},
}
TWO_JOBS = {
    "format": "ioopt/quantum-model",
    "points": [{"qi_seconds": 0.001, "qc_seconds": 0.01}],
}
PERTURBED = {
    "format": "ioopt/perturbation",
    "applications": [{"kind": "blocking", "requests_per_quantum": 1e15}],
}
CHOSEN = {"format": "ioopt/quantum-selection", "jobs": [{"id": "a", "kind": "io"}]}
COMPARED = {"format": "ioopt/comparison", "version": 1}
PLOT, IMPORT = (
    "plot given.json -o out.svg",
    "import nextflow-trace given.csv -o out.json",
)
TRACE = b"name,realtime\n"


@pytest.mark.parametrize(
    ("command", "content", "says"),
    [
        (
            "check given.json",
            json.dumps(TINY).replace("10}", "9" * 5000 + "}"),
            "5000 digits",
        ),
        ("check given.json", {**TINY, "name": "\ud800"}, "half a character"),
        (PLOT, {**COMPARED, "rows": []}, "rows: "),
        (PLOT, COMPARED, "rows: missing"),
        (PLOT, {**COMPARED, "rows": [{"solver": "ip"}]}, "rows[0].instance: missing"),
        (PLOT, {**COMPARED, "rows": [[]]}, "rows[0]: must be an object"),
        (IMPORT, TRACE + b"A" * 200_000 + b",1s\n", "not CSV: field larger than"),
        (IMPORT, TRACE + b"x" * 5000 + b",1s\n", "4096 characters"),
        *(
            ("sweep given.toml --store runs.sqlite --dry-run", text, "given.toml")
            for text in (
                "a = " + "[" * 3000,
                "a = " + "9" * 5000,
                "a = \x00",
                'name = "\\ud800"',
            )
        ),
        # 1e5 s of bursts of 25 ms and their slowdown of 2.2 on 32 processors are 5.8e7
        # draws of 25.2 numbers.
        (
            "measure given.json --set engine=event",
            {**TWO_JOBS, "horizon_seconds": 1e5},
            "1.47e+09 numbers in memory",
        ),
        (
            "measure given.json --set engine=event",
            {**TWO_JOBS, "points": [{"qi_seconds": 0.001, "qc_seconds": 1e9}]},
            "too long for",
        ),
        (
            "measure given.json --set engine=chain",
            {**TWO_JOBS, "points": [{"qi_seconds": 1e-12, "qc_seconds": 1.0}]},
            "in memory",
        ),
        ("measure given.json --set points=0", PERTURBED, "events in a run"),
        (
            "solve given.json --solver quantum-ip",
            {**CHOSEN, "quanta_seconds": [2500.0, 0.005]},
            "steps of the time grid 0.005 s",
        ),
        (
            "solve given.json --solver quantum-greedy",
            {**CHOSEN, "quanta_seconds": [1e5]},
            "in memory",
        ),
        # Sources whose values are sound by their own format, but not as an instance.
        ("import swf --family gang given.swf -o out.json", SWF_LINE, "5e-321"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_files(run: Any, command: str, content: Any, says: str) -> None:
    name = next(word for word in command.split() if word.startswith("given."))
    text = json.dumps(content) if isinstance(content, dict) else content
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = run(*command.split())
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert says in err and len(err) < 500
    assert name in err or command.startswith(
        ("measure", "solve")
    )  # a model is as large as it is
    assert [path.name for path in Path().iterdir()] == [name]


@pytest.mark.parametrize(
    ("command", "content"),
    [
        (
            "check given.json",
            json.dumps({**TINY, "name": "\U0001f600"}),
        ),  # two escapes, one character
        (IMPORT, "name,realtime\rA,1s\rB,2s\r"),  # bare returns end rows, too
    ],
    ids=lambda value: str(value)[:40],
)
def test_odd_files_that_are_sound(run: Any, command: str, content: str) -> None:
    Path(command.split()[command.startswith("import") + 1]).write_bytes(
        content.encode()
    )
    assert run(*command.split())[0] == 0


def test_whole_numbers_of_5000_digits_from_python() -> None:
    with pytest.raises(
        InstanceError, match=r"bytes: .*not a whole number of 16610 bits"
    ):
        load({**TINY, "files": [{"id": "f", "bytes": 10**5000}]})
    assert shown(10**5000) == "a whole number of 16610 bits"


def test_a_rate_beyond_any_machine_is_named(run: Any) -> None:
    Path("given.json").write_text(json.dumps(BATSIM))
    machine = "nodes=2,storage_rate=1e22B/s"
    told = run("import", "batsim", "--machine", machine, "given.json", "-o", "out.json")
    said = "ioopt: --machine: setting storage_rate=1e+22: must be 1e+18 or less\n"
    assert told == (2, "", said)


@pytest.mark.parametrize(
    "words",
    [
        ("budget", "directory-two-chains", "--noise"),
        ("budget", "directory-two-chains", "--size-noise"),
        ("simulate", "cycle3", "--sharing-noise"),
        ("compare", "cycle3", "--plot", "a.png", "--plot-width"),
    ],
)
def test_nan_is_in_no_range(run, words):
    code, _, err = run(*words, "nan")
    assert code == 2 and f"'{words[-1]}': nan is no number." in err
