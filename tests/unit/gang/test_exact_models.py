"""The exact gang models: hand-solved, equal in both forms, equal
to exhaustive search.
"""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from gang_tools import decision, random_matrix

import ioopt
from ioopt.checks.gang.matrix import check, weight_of
from ioopt.decisions.gang.state import state_of
from ioopt.models.gang.assignment import AssignmentModel
from ioopt.models.gang.question import ask, cliques_of
from ioopt.models.gang.row_free import RowFreeModel
from ioopt.models.program import Program
from ioopt.problems.gang import GangMatrixPlan, GangMatrixProblem, RunningJob
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.gang.bound import upper_bound


def _subsets(items: range) -> list[tuple[int, ...]]:
    counts = range(1, len(items) + 1)
    return [
        chosen for count in counts for chosen in itertools.combinations(items, count)
    ]


def _matrices(problem: GangMatrixProblem) -> Iterator[GangMatrixPlan]:
    """All plans: every column set and every set of rows that a job
    could have (or none).
    """
    machine = problem.machine
    choices = []
    for job in (*problem.running, *problem.waiting):
        places: list[tuple[int, ...]]
        if isinstance(job, RunningJob):
            places = list({tuple(sorted(job.columns)), tuple(sorted(job.file_nodes))})
        else:
            places = list(itertools.combinations(range(machine.nodes), job.size))
        options: list[Any] = [
            {"id": job.id, "columns": columns, "home_row": rows[0], "rows": rows}
            for columns in places
            for rows in _subsets(range(machine.levels))
        ]
        choices.append(options if isinstance(job, RunningJob) else [None, *options])
    for chosen in itertools.product(*choices):
        jobs = [placed for placed in chosen if placed is not None]
        yield GangMatrixPlan.model_validate({"jobs": jobs})


def _model_value(problem: GangMatrixProblem, fcfs: bool, share: Fraction) -> float:
    """The optimum of the model by enumeration: remote starters have
    one row, no columns.
    """
    machine, left = problem.machine, problem.tasks_left
    speed_moved = 1 - machine.migration_seconds / (2 * machine.quantum_seconds)
    rows_of = _subsets(range(machine.levels))
    room = machine.nodes * machine.levels * share - sum(
        job.size for job in problem.running
    )
    slower = [job.remote_seconds > job.local_seconds for job in problem.waiting]
    choices: list[list[Any]] = []
    for job in (*problem.running, *problem.waiting):
        weight = weight_of(job, machine.quantum_seconds, "las")
        slow, files = job.local_seconds / job.remote_seconds, frozenset(job.file_nodes)
        if isinstance(job, RunningJob):
            own = frozenset(job.columns)
            options = [
                (own, rows, 0, weight * (1 if own == files else slow))
                for rows in rows_of
            ]
            if own != files:
                cost = len(files - own)
                options += [
                    (files, rows, cost, weight * speed_moved) for rows in rows_of
                ]
        else:
            options = [(files, rows, 0, weight) for rows in rows_of]
            if slow == 1 or job.size <= room:
                options += [
                    (job.size, (r,), 0, weight * slow) for r in range(machine.levels)
                ]
            options.append((0, (), 0, 0.0))
        choices.append(options)
    best = -1.0
    for chosen in itertools.product(*choices):
        if left is not None and sum(cost for _, _, cost, _ in chosen) > left:
            continue
        away = [
            columns
            for slow, (columns, *_) in zip(slower, chosen[len(problem.running) :])
            if slow and isinstance(columns, int)
        ]
        if sum(away) > max(room, 0):
            continue
        starts = [bool(rows) for _, rows, _, _ in chosen[len(problem.running) :]]
        if fcfs and any(
            later and not before for before, later in itertools.pairwise(starts)
        ):
            continue
        if all(_row_holds(machine.nodes, row, chosen) for row in range(machine.levels)):
            best = max(best, sum(worth * len(rows) for _, rows, _, worth in chosen))
    return best


def _row_holds(nodes: int, row: int, chosen: Any) -> bool:
    taken: set[int] = set()
    count = 0
    for columns, rows, _, _ in chosen:
        if row not in rows:
            continue
        if isinstance(columns, int):
            count += columns
            continue
        if taken & columns:
            return False
        taken |= columns
    return count + len(taken) <= nodes


def _optimum(program: Program) -> int:
    answer = solve_by_cpsat(program, BackendLimits())
    values = [round(answer.values[at]) for at in range(len(program.variables))]
    assert answer.status == "optimal"
    assert program.broken(values) == []
    return program.value(values)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 2), Fraction(0)])
@pytest.mark.parametrize("fcfs", [False, True])
def test_row_model_equals_exhaustive_search(fcfs: bool, share: Fraction) -> None:
    """And the row-free form is never below it."""
    for seed in range(30):
        problem = random_matrix(seed, 4, 2, 3)
        question = ask(state_of(problem), "las", fcfs=fcfs, share=share)
        rows = _optimum(AssignmentModel(question).program)
        expected = _model_value(problem, fcfs, share)
        assert rows / question.scale == pytest.approx(expected, rel=1e-9)
        assert _optimum(RowFreeModel(question).program) >= rows


@pytest.mark.slow
def test_bound_holds_for_every_matrix() -> None:
    """No sound matrix, remote replicas included, is worth more than the
    bound; some meet it.
    """
    met = total = 0
    for seed in range(60):
        problem = random_matrix(seed, 3, 2, 3)
        bounds = {
            f"value_{kind}": upper_bound(problem, kind)
            for kind in ("las", "hdf", "one")
        }  # type: ignore[arg-type]
        best = dict.fromkeys(bounds, 0.0)
        for plan in _matrices(problem):
            report = check(problem, plan, None)
            if not report.violations:
                total += 1
                best = {name: max(best[name], report.objectives[name]) for name in best}
        for name, bound in bounds.items():
            assert best[name] <= bound * (1 + 1e-9)
            met += best[name] >= bound * (1 - 1e-6)
    assert total > 1000
    assert met > 100


def test_row_free_is_exact_on_intervals() -> None:
    """P = 4, M = 2, equal weights: a on 0-1, b on 1-2, c on 2-3 all run: 2 + ... rows.

    Node 1 is shared by a and b, node 2 by b and c: y_a + y_b <= 2 and y_b + y_c <= 2,
    each at least 1 because all run: the best is y = (1, 1, 1), worth 3.
    """
    places = (("a", [0, 1], 0), ("b", [1, 2], 1), ("c", [2, 3], 0))
    problem = ioopt.load(
        decision((name, at, at, row, 100.0, 200.0) for name, at, row in places)
    )
    question = ask(state_of(problem), "one")
    assert question.cliques == ((0, 1), (1, 2))
    for model in (RowFreeModel(question), AssignmentModel(question)):
        assert _optimum(model.program) / question.scale == pytest.approx(3.0)
    assert upper_bound(problem, "one") == pytest.approx(3.0)


def test_cliques_drop_what_others_imply() -> None:
    """Node 0: {0}; node 1: {0, 1}; node 2: {0, 1, 2}; node 3:
    {2}. One maximal clique.
    """
    assert cliques_of([0b0111, 0b0110, 0b1100], 4) == ((0, 1, 2),)
    assert cliques_of([0b01, 0b10], 2) == ()


TWO_RUN_TWO_WAIT: GangMatrixProblem = ioopt.load(
    decision(
        [
            ("a", [0, 1], [0, 1], 0, 400.0, 800.0),
            ("b", [0, 1], [1, 2], 1, 400.0, 800.0),
        ],
        [("c", [2, 3], 50.0, 75.0), ("d", [3], 50.0, 75.0)],
        migration_seconds=20.0,
    )
    | {"migration_tasks_left": 1}
)
"""Options: 0 a stays, 1 b stays, 2 b moves (1 task), 3 c local, 4 c remote, 5
d local, 6 d remote.
"""


@pytest.mark.parametrize(
    ("broken", "spans"),
    [
        (None, {0: 0b01, 1: 0b10, 3: 0b01}),
        (None, {0: 0b01, 2: 0b10, 4: 0b01, 6: 0b10}),
        ("choice_1", {0: 0b01, 3: 0b01}),
        ("choice_2", {0: 0b01, 1: 0b10, 3: 0b01, 4: 0b10}),
        ("clique_0_0", {0: 0b01, 1: 0b01}),
        ("clique_1_1", {0: 0b01, 2: 0b10, 3: 0b10}),
        ("slots_1", {0: 0b01, 2: 0b10, 4: 0b10, 6: 0b10}),
        ("fcfs_3", {0: 0b01, 1: 0b10, 5: 0b01}),
    ],
)
def test_rows_of_the_model(broken: str | None, spans: dict[int, int]) -> None:
    """A matrix that keeps every row, and for each kind of row one that breaks only it.

    Cliques: node 1 carries options 0, 1, 2 (clique 0); node 2: 2, 3
    (clique 1); node 3: 3, 5.
    """
    question = ask(state_of(TWO_RUN_TWO_WAIT), fcfs=True)
    assert question.cliques == ((0, 1, 2), (2, 3), (3, 5))
    model = AssignmentModel(question)
    assert model.program.broken(model.start(spans)) == ([broken] if broken else [])


def test_budget_and_rows_of_what_is_taken() -> None:
    """With no task left the move is no option; with one it is, and
    two tasks are too many.
    """
    tight = TWO_RUN_TWO_WAIT.model_copy(update={"migration_tasks_left": 0})
    assert [o.deed for o in ask(state_of(tight)).options].count("move") == 0
    question = ask(state_of(TWO_RUN_TWO_WAIT))
    assert [(o.deed, o.cost) for o in question.options][1:3] == [
        ("stay", 0),
        ("move", 1),
    ]
    model = AssignmentModel(question)
    point = model.start({0: 0b01, 1: 0b10})
    taken = model.taken[3]
    assert taken is not None
    point[taken] = 1
    assert model.program.broken(point)[0] == "some_3"
    point[taken], point[model.cells[3][0]] = 0, 1
    assert model.program.broken(point)[0] == "taken_3_0"


def test_a_bound_without_a_solver() -> None:
    """What upper_bound falls back on: every variable at its better
    limit, 2 x 3 - 1 x 1 = 5.
    """
    program = Program("p", maximise=True)
    program.objective = {program.whole("a", 0, 3): 2, program.whole("b", 1, 4): -1}
    assert program.limit() == 5


def test_replicas_of_a_remote_start_share_their_columns() -> None:
    """P = M = 2: a runs on node 0, b on node 1 (weight 1e-6), c waits for node
    0 (1e-4), L/R = 2/3.

    Four slots less those of a and b hold c remote in two rows, 4/3 x 1e-4 +
    2e-6; but no node has two rows free. On node 0 c runs at full speed in one:
    1e-4, a once and b twice.
    """
    jobs = [
        (name, [node], [node], 0, 100.0, 150.0, {"attained_seconds": 900.0})
        for name, node in (("a", 0), ("b", 1))
    ]
    problem = ioopt.load(decision(jobs, [("c", [0], 100.0, 150.0)], nodes=2))
    question = ask(state_of(problem), "las")
    loose = _optimum(RowFreeModel(question, replicated=True).program) / question.scale
    assert loose == pytest.approx(4e-4 / 3 + 2e-6)
    assert upper_bound(problem) == pytest.approx(1.03e-4)
    assert ioopt.solve(problem, "exact-iogs").status == "optimal"
