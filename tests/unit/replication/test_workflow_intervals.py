"""The relaxation with intervals: what each constraint is for, and that every replay is a point of it."""

from __future__ import annotations

import pytest
from random_workflows import random_workflow
from workflow_bounds import random_plan, workflow
from workflow_exhaustive import tight_workflow

from ioopt.models.replication.workflow_intervals import TICKS, IntervalModel
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.replication.plans import build_plan


def least(model: IntervalModel) -> float:
    answer = solve_by_cpsat(model.program, BackendLimits(work=5), parameters={"symmetry_level": 0})
    assert answer.bound is not None
    return model.seconds(answer.bound)


FORK = workflow([{}, {}], split=(4, "ab", "x"), left=(6, "x", ""), right=(6, "x", ""))


def test_the_fork_takes_what_it_takes() -> None:
    """8 s of fetching, 4 s, a copy of 2 s, 6 s."""
    assert least(IntervalModel(FORK, 26.0)) == pytest.approx(8 + 4 + 2 + 6, rel=1e-4)


def test_each_row_refuses_what_it_is_for() -> None:
    model = IntervalModel(FORK, 26.0)
    replayed = simulate(FORK, build_plan(FORK, [[0, 1], [2]], "lru"))
    point = model.hint(replayed.schedule)
    assert model.program.broken(point, slack=1) == []
    file, far = FORK.file_index["x"], 1
    wrong = {
        "(1)[2]": {model.on[2, far]: 0},
        "(2)[1]": {model.end[1]: 0},
        "(2) tail[0]": {model.makespan: point[model.end[0]]},
        "(3)[0,1]": {model.start[1]: point[model.end[0]] - TICKS // 26},
        f"(4)[{file},1,2]": {model.comes[file, far]: 0},
        f"(5)[{file},1]": {model.arrives[file, far]: point[model.end[0]] - TICKS // 26},
        f"(5)[{file},1,2]": {model.arrives[file, far]: point[model.start[2]]},
        "(8)": {at: model.program.variables[at].least for at in model.first.values()},
        f"(8)[{FORK.file_index['a']},0]": {model.first[FORK.file_index["a"]]: TICKS},
    }
    for name, change in wrong.items():
        assert name in model.program.broken({**point, **change}), name


@pytest.mark.parametrize(
    ("name", "problem", "seconds", "without"),
    [
        ("(6) cores", workflow([{}], one=(4, "", "a"), two=(6, "", "b")), 10, 6),
        # Both write 40 bytes, and 70 have room.
        (
            "(6) disk",
            workflow([{"cores": 2, "disk_bytes": 70}], one=(4, "", "a"), two=(6, "", "b")), 10, 6,
        ),
        # The last fits one node alone, to which both files come, each in 2 s; nothing else does.
        (
            "(7)",
            workflow([{"disk_bytes": 79}, {"disk_bytes": 79}, {"disk_bytes": 80, "speed": 1e-9}],
                one=(4, "", "a"), two=(4, "", "b"), join=(1e-9, "ab", "")), 4 + 2 + 2 + 1, 4 + 2 + 1,
        ),
    ],
)  # fmt: skip
def test_each_capacity_keeps_its_distance(
    name: str, problem: ReplicationProblem, seconds: float, without: float
) -> None:
    bounds = []
    for kept in (True, False):
        model = IntervalModel(problem, 20.0)
        for at in (model.makespan, *model.start):
            model.program.hold(at, least=0)
        if not kept:
            model.program.capacities = [
                row for row in model.program.capacities if not row.name.startswith(name)
            ]
        bounds.append(least(model))
    assert bounds == pytest.approx([seconds, without], rel=1e-4)


def test_every_replay_is_a_point() -> None:
    """Within one tick, the rounding of its times; its makespan is no less than the bound."""
    import random

    for seed in range(1, 41):
        instance = (random_workflow if seed % 2 else tight_workflow)(seed, 8)
        problem = ReplicationProblem.model_validate(instance)
        nodes = range(len(problem.nodes))
        if not all(any(problem.fits(k, i) for i in nodes) for k in range(len(problem.tasks))):
            continue
        replayed = simulate(problem, random_plan(problem, random.Random(seed)), engine="python")
        seconds = replayed.metrics["makespan_seconds"]
        if seconds > 0:
            model = IntervalModel(problem, seconds)
            assert model.program.broken(model.hint(replayed.schedule), slack=1) == []
            if seed < 9:
                assert least(model) <= seconds
