"""What a result claims beyond its plan: bounds, proofs, references, its run; by
hand, one at a time.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from batch_io_traces import by_hand

import ioopt
from ioopt.checking import judgement
from ioopt.cli.main import main
from ioopt.errors import InstanceError
from ioopt.known_plans import known_plans


@cache
def _text(source: str, solver: str) -> str:
    return json.dumps(ioopt.solve(source, solver, time_limit=5).to_dict())


def solved(
    source: str = "cycle3", solver: str = "minmin", **changes: Any
) -> dict[str, Any]:
    """A true result as plain data, with *changes*."""
    document: dict[str, Any] = json.loads(_text(source, solver))
    return document | changes


def rules(document: dict[str, Any], source: Any = "cycle3") -> list[str]:
    return [item.rule for item in ioopt.check(source, document)]


def command(
    tmp_path: Path, capsys: Any, document: Any, source: str = "cycle3"
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``ioopt check`` for a
    document or its text.
    """
    path = tmp_path / "result.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    code = main(["check", source, str(path)])
    return code, *capsys.readouterr()


# --- bounds

# MinMin fetches the 64 MB once (5.12 s) and copies it twice (.128 s); the node in the
# middle computes three tasks of 1.5 s: 5.12 + .128 is followed by three tasks
# elsewhere, 6.748 s by (13).
CALLED_OPTIMAL = {"bound": 6.748, "gap": 0.0, "status": "optimal", "objective": 6.748}


def test_a_bound_above_the_best_plan_of_the_catalog_is_false() -> None:
    """5.184 s are known of cycle3, so that 6.748 s are no bound, whatever
    plan stands beside it.
    """
    assert known_plans(ioopt.load("cycle3"))["additive_seconds"] == (5.184, 5.184)
    assert rules(solved()) == []
    assert rules(solved(**CALLED_OPTIMAL)) == ["bound"]
    assert rules(solved(bound=5.185, gap=(6.748 - 5.185) / 6.748)) == ["bound"]
    assert rules(solved(bound=5.184, gap=(6.748 - 5.184) / 6.748)) == []


def test_what_is_known_holds_for_equal_content_alone(
    tmp_path: Path, capsys: Any
) -> None:
    """Of a renamed copy nothing is known: the claim stands, and check
    says whose word it is.
    """
    data = ioopt.load("cycle3").model_dump(mode="json", exclude_none=True)
    renamed = data | {"name": "mine"}
    document = solved(**CALLED_OPTIMAL, instance="mine")
    assert known_plans(ioopt.load(renamed)) == {} and rules(document, renamed) == []
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(renamed))
    code, _, said = command(tmp_path, capsys, document, str(path))
    assert code == 0 and "not recomputed: bound" in said
    assert '"optimal" rests on the bound 6.748' in " ".join(said.split())
    # The same name on slower nodes: another instance; another origin: the same.
    slower = data | {"tasks": [row | {"compute_seconds": 9.0} for row in data["tasks"]]}
    assert known_plans(ioopt.load(slower)) == {}
    assert known_plans(ioopt.load(data | {"meta": {"source": "mail"}})) != {}


def test_a_file_of_the_same_name_is_not_the_catalogs(
    tmp_path: Path, monkeypatch: Any
) -> None:
    true = ioopt.load("cycle3")
    data = true.model_dump(mode="json", exclude_none=True)
    slower = data | {"tasks": [row | {"compute_seconds": 9.0} for row in data["tasks"]]}
    monkeypatch.chdir(tmp_path)
    Path("cycle3").write_text(json.dumps(slower))
    assert known_plans(ioopt.load("cycle3")) == {} and known_plans(true) != {}


def test_a_metric_that_bounds_another_is_a_number() -> None:
    document = ioopt.solve("two-writers", "io-exact", time_limit=5).to_dict()
    document["metrics"]["io_delay_bound"] = "1.0"
    found = ioopt.check("two-writers", document, settings=document["settings"])
    assert [str(one) for one in found] == [
        "metric: io_delay_bound: bounds a measure, and '1.0' is not a number"
    ]


def test_a_bound_that_the_catalog_proves_is_not_named(
    tmp_path: Path, capsys: Any
) -> None:
    code, _, said = command(tmp_path, capsys, solved("cycle3", "ip"))
    assert code == 0 and "bound," not in said and "optimal" not in said


@pytest.mark.parametrize("text", ["-1e400", "1e400", "NaN", "-Infinity"])
def test_a_bound_is_a_finite_number(text: str, tmp_path: Path, capsys: Any) -> None:
    written = json.dumps(solved(bound=12345.0)).replace("12345.0", text)
    code, out, said = command(tmp_path, capsys, written)
    assert (code, out) == (2, "") and said.count("\n") == 1
    assert "finite" in said
    with pytest.raises(InstanceError, match="bound: must be a finite number"):
        ioopt.check("cycle3", solved(bound=float(text)))


def test_a_bound_says_no_less_than_the_instance() -> None:
    """On 3 nodes 64 MB at 12.5 MB/s and six tasks of 1.5 s come to (5.12 + 9) /
    3 = 4.7067 s a node.
    """
    for bound, expected in (
        (4.707, []),
        (4.70, ["bound"]),
        (0.0, ["bound"]),
        (-1e300, ["bound"]),
    ):
        assert rules(solved(bound=bound, gap=None)) == expected


def test_a_metric_that_bounds_another_is_held_to_it() -> None:
    """Both jobs of two-writers wait for I/O 1 s together at least; 2 s are
    told as the bound of .5.
    """
    true = solved("two-writers", "io-exact")
    delay = true["metrics"]["io_delay_seconds"]
    for bound, expected in (
        (delay, []),
        (delay + 1.0, ["metric"]),
        (-1e300, ["metric"]),
    ):
        false = true | {"metrics": true["metrics"] | {"io_delay_bound": bound}}
        found = ioopt.check("two-writers", false, settings=true["settings"])
        assert [item.rule for item in found] == expected


# --- status and gap

CONTRADICTIONS: list[tuple[list[str], dict[str, Any]]] = [
    (["status"], {"status": "does not apply"}),
    (["status"], {"status": "feasible"}),
    (["status"], {"objective": None}),
    (["status", "gap"], {"bound": None}),
    (["gap"], {"bound": None, "status": "feasible"}),
    (["seed"], {"seed": 4}),
    (["stop"], {"stop": "fallback"}),
    (["stop"], {"stop": "interrupted"}),
    (["stop"], {"stop": "searched"}),
    (["trace"], {"trace": [[0.0, 7.0], [0.0, 8.0]]}),
    (["trace"], {"trace": [[1e6, 7.0]]}),
]


@pytest.mark.parametrize(("expected", "change"), CONTRADICTIONS)
def test_statements_that_contradict_each_other(
    expected: list[str], change: dict[str, Any]
) -> None:
    assert rules(solved("cycle3", "ip", notes=[]) | change) == expected


@pytest.mark.parametrize(
    ("robust", "shares", "expected"),
    [
        (True, [0.9, 1.0], []),  # the first plan holds worse under noise
        (True, [0.9, 0.95], ["trace"]),
        (False, [0.9, 1.0], ["trace", "trace"]),
        (False, [1.1, 1.0], []),
    ],
)
def test_a_robust_search_may_leave_a_plan_of_a_better_objective(
    robust: bool, shares: list[float], expected: list[str]
) -> None:
    settings = {"evaluations": 300, "robust": robust}
    result = ioopt.solve("cycle3", "link-aware", settings=settings)
    assert result.value is not None
    trace = [[0.0, share * result.value] for share in shares]
    assert rules(result.to_dict() | {"trace": trace}) == expected


OPTIONS: list[dict[str, Any]] = [
    {"threads": 0},
    {"threads": True},
    {"time_limit_seconds": -1},
    {"gap": -0.1},
    {"backend": "Abacus"},
    {"luck": 1},
    {"settings": {"luck": 1}},
    {"settings": None},
    {"log": 3},
]


@pytest.mark.parametrize("change", OPTIONS, ids=str)
def test_options_are_those_of_the_solver(change: dict[str, Any]) -> None:
    true = solved()
    assert rules(true | {"options": true["options"] | change}) == ["options"]


@pytest.mark.parametrize(
    ("solver", "expected"), [("auto", []), ("minmin", ["options"])]
)
def test_only_a_solver_that_had_no_settings_may_state_none(
    solver: str, expected: list[str]
) -> None:
    """Results that ``auto`` wrote with version 0.2 hold on."""
    true = solved("cycle3", solver)
    options = {
        key: value for key, value in true["options"].items() if key != "settings"
    }
    assert rules(true | {"options": options}) == expected


def test_settings_of_the_options_are_those_of_the_plan() -> None:
    true = solved("two-writers", "fill")
    settings = true["options"]["settings"] | {"alpha": 2.0}
    false = true | {"options": true["options"] | {"settings": settings}}
    assert rules(false, "two-writers") == ["options"]


@pytest.mark.parametrize("part", ["metrics", "options", "settings"])
def test_numbers_anywhere_are_finite(part: str) -> None:
    true = solved()
    false = true | {part: true[part] | {"luck": [{"x": 1e400}]}}
    with pytest.raises(InstanceError, match=f"{part}.luck: must be a finite number"):
        ioopt.check("cycle3", false)


# --- what no one reads


def test_keys_that_no_one_reads_are_refused_and_meta_is_free() -> None:
    true = solved()
    assert rules(true | {"meta": {"mood": "good", "depth": [1]}}) == []
    with pytest.raises(InstanceError, match="luck: unknown key"):
        ioopt.check("cycle3", true | {"luck": 1})
    with pytest.raises(InstanceError, match="plan: luck: unknown key"):
        ioopt.check("cycle3", true | {"plan": true["plan"] | {"luck": 1}})
    with pytest.raises(InstanceError, match="schedule: luck: unknown key"):
        ioopt.check("cycle3", true | {"schedule": true["schedule"] | {"luck": 1}})
    with pytest.raises(InstanceError, match="luck: is not a field of a result"):
        ioopt.check("cycle3", {"plan": true["plan"], "luck": 1})


def test_check_names_what_it_does_not_recompute(tmp_path: Path, capsys: Any) -> None:
    code, out, said = command(tmp_path, capsys, solved())
    assert code == 0 and "no violation" in out
    for name in ("solver", "solve_seconds", "seed", "options", "versions", "stop"):
        assert name in said
    assert command(tmp_path, capsys, solved()["plan"])[2] == ""


# --- a reference that breaks the storage limit


@pytest.mark.parametrize("source", ["two-writers", "two-writers-now"])
def test_a_plan_over_the_storage_limit_is_never_without_violation(
    source: str, tmp_path: Path, capsys: Any
) -> None:
    """Both writers at their peak of 4 GB/s ask 8 GB/s of a storage of 4 GB/s."""
    reference = solved(source, "no-congestion")
    assert rules(reference, source) == []
    code, out, _ = command(tmp_path, capsys, reference, source)
    assert (
        code == 0
        and "no violation" not in out
        and "storage" in out
        and "reference" in out
    )
    own = reference | {"solver": "mine:fast"}
    assert "storage" in rules(own, source)
    code, out, _ = command(tmp_path, capsys, own, source)
    assert code == 5 and out.startswith("storage") and "no violation" not in out
    # Who names nobody is taken at the word of the plan; a schedule alone is
    # held to the limit.
    bare = {key: reference[key] for key in ("plan", "schedule")}
    assert judgement(ioopt.load(source), bare, "bare").excused != ()


def test_an_own_solver_that_ignores_the_storage_limit_fails() -> None:
    def fast(problem: Any) -> dict[str, Any]:
        return {"policy": "no-congestion"}

    result = ioopt.solve("two-writers", fast)
    assert result.status == "error" and result.value is None
    assert {item.rule for item in result.violations} == {"storage"}


# --- the queue where there is no plan


def queue_of(order: str, backfill: str) -> dict[str, Any]:
    """Four jobs on 4 nodes that compute only: B needs all of them, C and D one."""
    jobs = [
        ("A", 0, 3, 10, [(10, 0)]),
        ("B", 1, 4, 10, [(5, 0)]),
        ("C", 2, 1, 5, [(5, 0)]),
        ("D", 3, 1, 20, [(2, 0)]),
    ]
    return by_hand(jobs, {"nodes": 4, "unit_nodes": 1}, queue=order, backfill=backfill)


def schedule_of(**starts: float) -> dict[str, Any]:
    seconds = {"A": 10.0, "B": 5.0, "C": 5.0, "D": 2.0}
    rows = [
        {
            "id": name,
            "start_seconds": start,
            "end_seconds": start + seconds[name],
            "killed": False,
            "io": [],
        }
        for name, start in starts.items()
    ]
    return {"schedule": {"jobs": rows}}


# A ends at 10, when B can begin. C asks for 5 s and is back by 7; D asks
# for 20 s, past 10.
EASY = schedule_of(A=0.0, B=10.0, C=2.0, D=15.0)
IN_TURN = schedule_of(A=0.0, B=10.0, C=15.0, D=15.0)


def test_the_queue_is_held_where_there_is_no_plan() -> None:
    assert ioopt.check(queue_of("fcfs", "easy"), EASY) == []
    assert ioopt.check(queue_of("fcfs", "none"), IN_TURN) == []
    early = schedule_of(A=0.0, B=10.0, C=2.0, D=7.0)
    late = schedule_of(A=0.0, B=15.0, C=10.0, D=10.0)
    for schedule, backfill, job, at in (
        (EASY, "none", "C", "starts at 2.0"),
        (IN_TURN, "easy", "C", "does not start at 2.0"),
        (early, "easy", "D", "starts at 7.0"),
        (late, "none", "C", "starts at 10.0"),
    ):
        found = ioopt.check(queue_of("fcfs", backfill), schedule)
        assert found and all(item.rule == "queue" for item in found)
        assert found[0].item == job and at in found[0].message


def test_the_order_of_the_queue_is_the_one_stated() -> None:
    """By sjf C (5 s) is first at 2 s, before B (10 s). By wfp B is,
    as C has not waited.

    At 10 s B has (9/10)^3 x 4 = 2.9 by wfp and C (8/5)^3 x 1 = 4.1: C begins, and B
    waits for it. At 15 s B has (14/10)^3 x 4 = 11.0 and D (12/20)^3 x 1 = .2: B
    begins, and D waits for it.
    """
    aged = schedule_of(A=0.0, C=10.0, B=15.0, D=20.0)
    right = {"fcfs": IN_TURN, "sjf": EASY, "wfp": aged}
    for order in right:
        for other, schedule in right.items():
            found = [
                item.rule for item in ioopt.check(queue_of(order, "none"), schedule)
            ]
            assert (found == []) == (other == order) and set(found) <= {"queue"}
