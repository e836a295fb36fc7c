"""Generated workflows: shapes by hand, seeds, disks, refusals; and the bundled ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, first

import ioopt
from ioopt import registry
from ioopt.cli.main import main
from ioopt.errors import UsageError
from ioopt.generate.replication.generate import generate
from ioopt.units import quantity, time_unit

ROWS = json.loads((ROOT / "instances/replication/catalog.json").read_text())[
    "instances"
]
BUNDLED = {row["name"]: row for row in ROWS if row["name"].startswith("flow-")}

SHAPES: list[tuple[str, dict[str, Any], int, int, int]] = [
    # preset, settings, tasks, precedences, files to keep
    ("chains", {"chains": 3, "length": 4}, 12, 9, 3),
    ("fork-join", {"rounds": 2, "width": 5}, 14, 21, 1),  # 5 + 5 a round, 1 between
    ("in-tree", {"leaves": 9, "arity": 3}, 13, 12, 1),
    ("in-tree", {"leaves": 5, "arity": 2}, 11, 10, 1),  # 5, 3 (one alone), 2, 1
    # 4 projected, 5 pairs, concat, model, 4 corrected, table, add, shrink:
    # 10 + 5 + 1 + 4 + 4 + 4 + 5 + 1
    ("montage-like", {"images": 4}, 18, 34, 1),
    ("many-small-groups", {"groups": 3, "width": 2}, 12, 12, 3),
]


@pytest.mark.parametrize(("preset", "settings", "tasks", "edges", "kept"), SHAPES)
def test_shapes(
    preset: str, settings: dict[str, Any], tasks: int, edges: int, kept: int
) -> None:
    problem = generate(preset, settings, 1)
    assert len(problem.tasks) == tasks and sum(map(len, problem.predecessors)) == edges
    assert sum(file.keep for file in problem.files) == kept
    assert problem == generate(preset, settings, 1) != generate(preset, settings, 2)
    assert problem.meta["preset"] == preset


def test_sizes_times_cores_arrivals_and_disks() -> None:
    plain = generate(
        "many-small-groups", {"spread": 0, "groups": 2, "every_seconds": 7}, 1
    )
    assert {file.bytes for file in plain.files} == {50_000_000, 25_000_000}
    assert {task.compute_seconds for task in plain.tasks} == {30.0, 6.0}
    assert [task.release_seconds for task in plain.tasks] == [0] * 5 + [7] * 5
    wide = generate("chains", {"task_cores": 3, "disk_share": 1.5}, 1)
    assert {task.cores for task in wide.tasks} == {1, 2, 3}
    needed = max(wide.task_bytes(k) for k in range(len(wide.tasks)))
    assert wide.nodes[0].disk_bytes == -(-3 * needed // 2)
    many = generate("chains", {"chains": 2000, "length": 1}, 1)
    seconds = np.mean([task.compute_seconds for task in many.tasks])
    assert seconds == pytest.approx(
        30, rel=0.05
    )  # the mean is the mean, not the median


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_workflows_are_answered_as_the_catalog_says(name: str) -> None:
    row = BUNDLED[name]
    solver = row["who"].split()[1].rstrip(",")
    searched = solver == "link-aware"
    result = ioopt.solve(
        name, solver, settings={"evaluations": 1} if searched else None
    )
    best = pytest.approx(row["best_objective"])
    seconds = result.metrics["makespan_seconds"]
    assert seconds == best or (searched and seconds > row["best_objective"])
    assert result.metrics["lower_bound_seconds"] == pytest.approx(row["bound"])


@pytest.mark.parametrize("name", first(1, ["flow-montage", "flow-groups"]))
def test_auto_is_never_above_the_planners(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ioopt.solvers.replication.search import params

    few = {"fewest_evaluations": 30, "evaluations_per_task": 0}
    monkeypatch.setattr(params, "PARAMS", params.PARAMS.model_copy(update=few))
    rows = ioopt.compare(name, time_limit=10)
    best = rows["makespan_seconds"]
    assert set(best.index) == {
        "auto",
        "b-level",
        "fifo",
        "heft",
        "locality",
        "ready-min-min",
    }
    assert best["auto"] == best.min() < best.max()
    result = ioopt.solve(name, time_limit=10)
    assert result.notes[0].startswith("auto chose link-aware (")
    fifo = quantity("makespan_seconds", best["fifo"], unit=time_unit(list(best)))
    assert f"fifo {fifo}" in result.notes[2] and result.violations == ()


def test_a_plan_with_saves_is_drawn(tmp_path: Path) -> None:
    result, picture = (str(tmp_path / name) for name in ("r.json", "g.svg"))
    assert main(["solve", "flow-groups", "--solver", "locality", "-o", result]) == 0
    saves = [
        row
        for row in json.loads(Path(result).read_text())["schedule"]["transfers"]
        if row["destination"] is None
    ]
    assert len(saves) > 16 and main(["plot", result, "-o", picture]) == 0
    assert "file to remote storage" in Path(picture).read_text()


@pytest.mark.parametrize("solver", ["auto", "heft", "ready-min-min"])
def test_a_plan_that_there_was_no_time_to_replay_is_an_answer(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ioopt import solving
    from ioopt.errors import OutOfTime
    from ioopt.solvers.replication.exact import exact_workflow
    from ioopt.solvers.replication.search import params

    def late(*_: Any, **__: Any) -> None:
        raise OutOfTime("no time is left")

    monkeypatch.setattr(solving, "simulate", late)
    limits = exact_workflow.LIMITS.model_copy(update={"least_relaxed": float("inf")})
    monkeypatch.setattr(exact_workflow, "LIMITS", limits)
    few = {"fewest_evaluations": 30, "evaluations_per_task": 0}
    monkeypatch.setattr(params, "PARAMS", params.PARAMS.model_copy(update=few))
    result = ioopt.solve("flow-chains", solver)
    assert (result.status, result.stop, result.objective) == ("feasible", "time", None)
    assert len(result.plan["assign"]) == 30 and result.violations == ()


def test_tasks_get_memory_and_overheads_and_nothing_else_changes() -> None:
    plain = generate("chains", {"chains": 3}, 5)
    needs = {"memory": "8GB", "task_memory": "3GB", "overhead": 7}
    problem = generate("chains", {"chains": 3, **needs}, 5)
    assert {node.memory_bytes for node in problem.nodes} == {8_000_000_000}
    assert {task.overhead_seconds for task in problem.tasks} == {7}
    memory = [task.memory_bytes for task in problem.tasks]
    assert 0 < min(memory) < max(memory) <= 8_000_000_000
    for task, other in zip(problem.tasks, plain.tasks, strict=True):
        same = {"memory_bytes": 0, "overhead_seconds": 0.0}
        assert task.model_copy(update=same) == other
    assert "memory" not in plain.meta["settings"]


@pytest.mark.parametrize("preset", ["chains", "fork-join", "many-small-groups"])
def test_files_lie_on_shared_storage_if_asked_for(preset: str) -> None:
    settings = {"products": "shared", "cache": "read", "disk": "1MB"}
    problem = generate(preset, settings, 1)
    assert problem.is_shared and problem.cache == "read"
    assert not any(file.keep for file in problem.files)
    problem.require_room()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cache": "read"}, 'set "products": "shared"'),
        ({"memory": "1e300"}, r"memory_bytes: must be 1e\+18 or less"),
    ],
)
def test_settings_that_contradict_each_other_get_one_short_line(
    settings: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as told:
        registry.generate(registry.KINDS["replication"], "chains", settings, 1)
    assert len(str(told.value)) < 200
