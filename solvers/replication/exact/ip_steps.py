"""The steps of ``ip`` in their order: when each is taken, which share of the time it
may use, and what it does.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import Field

from ioopt.models.replication.aggregated import num_columns
from ioopt.models.replication.static import StaticInstance
from ioopt.problems.base import Record
from ioopt.solvers.replication.exact.enumeration import applies
from ioopt.solvers.replication.exact.ip_search import SMALL_COLUMNS, Search
from ioopt.solvers.replication.plans import TINY_TASKS

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0)]
Rounds = Annotated[int, Field(ge=1)]


class SearchLimits(Record):
    """Divide the time of ``ip`` between annealing, models and proofs.

    The values were chosen on the sweeps ``additive`` (IMAGE-85, SAT-85 and PPA of 16 to
    500 tasks, 12 s) and ``library-additive`` (half a second). Speeds are those of a
    busy machine.

    *Annealing* may use ``anneal_share`` of the time limit, or ``small_anneal_share`` if
    the instance is small enough for a proof. It starts from ``anneal_rounds`` seeds.
    Instances that are not small get ``hurried_rounds`` seeds instead if the model is
    too large to build, or if fewer than ``hurry_seconds`` are left. With fewer than
    ``loading_pays_seconds`` left, annealing comes before the first use of CP-SAT, which
    takes time to load.

    *Shared files*: the bound by the weights of the files may take ``weights_share`` of
    the time left, and at most 2 s. If the instance is not small, the bound of what
    shared files cost may take ``cut_share`` of the time that annealing leaves.

    *Models*: a model is built if building takes at most ``build_share`` of the time
    left, at ``terms_per_second`` coefficients per second. If more than
    ``longest_search_seconds`` are left, only that many count. Instances of up to
    ``small_columns`` columns are proven rather than searched. The first attempt at a
    proof may take ``first_proof_seconds`` of CP-SAT's deterministic time, so that it
    can be repeated exactly.

    *Afterwards*: the search for a bound of all plans may take as long as the search for
    plans of one round took, but at least ``least_wider_seconds``. ``answer_seconds``
    plus ``answer_seconds_per_task`` for each task are reserved for writing, checking
    and replaying the plan. The search keeps at least ``least_share`` of the time.
    """

    anneal_share: Share = 0.6
    small_anneal_share: Share = 0.2
    anneal_rounds: Rounds = 6
    hurried_rounds: Rounds = 2
    hurry_seconds: Seconds = 3.0
    loading_pays_seconds: Seconds = 1.5
    weights_share: Share = 0.1
    cut_share: Share = 0.9
    build_share: Share = 0.3
    longest_search_seconds: Seconds = 120.0
    terms_per_second: Annotated[float, Field(gt=0)] = 150_000
    small_columns: Annotated[int, Field(ge=0)] = SMALL_COLUMNS
    first_proof_seconds: Seconds = 2.0
    least_wider_seconds: Seconds = 1.0
    answer_seconds: Seconds = 0.05
    answer_seconds_per_task: Seconds = 4e-4
    least_share: Share = 0.6


LIMITS = SearchLimits()


@dataclass
class Case:
    """What the steps depend on: the search, whether it may anneal, and the *backend*
    that the user named (None: none).

    ``builds`` says whether the model can be built in time, once a step has found out.
    """

    search: Search
    may_anneal: bool
    backend: str | None
    builds: bool = False


def goes_on(case: Case) -> bool:
    """Return whether neither a proof nor the requested gap nor the deadline is
    reached.
    """
    return not case.search.over()


def may_anneal(case: Case) -> bool:
    """Return whether the settings allow annealing."""
    return case.may_anneal


def no_backend(case: Case) -> bool:
    """Return whether the user named no backend."""
    return case.backend is None


def in_floats(case: Case) -> bool:
    """Return whether the user named a backend that computes in floating point."""
    return case.backend in ("HiGHS", "CBC")


def on_cpsat(case: Case) -> bool:
    """Return whether one run of CP-SAT solves the model: the user named CP-SAT, or the
    instance is large.
    """
    return case.backend == "CP-SAT" or (large(case) and not in_floats(case))


def tiny(case: Case) -> bool:
    """Return whether an enumeration takes a fraction of a second."""
    return len(case.search.instance.problem.tasks) <= TINY_TASKS


def small(case: Case) -> bool:
    """Return whether the instance is small enough for a proof."""
    instance = case.search.instance
    return num_columns(instance) <= LIMITS.small_columns or applies(instance)


def large(case: Case) -> bool:
    """Return whether the instance is too large for a proof."""
    return not small(case)


def loads_late(case: Case) -> bool:
    """Return whether CP-SAT is not loaded yet, and loading it would take much of the
    time left.
    """
    left = case.search.deadline.remaining()
    return "ortools" not in sys.modules and left < LIMITS.loading_pays_seconds


def builds(case: Case) -> bool:
    """Return whether the model can be built in time."""
    return case.builds


def too_large(case: Case) -> bool:
    """Return whether the model cannot be built in time."""
    return not case.builds


def enumerate_plans(case: Case, share: float) -> None:
    """Enumerate all plans in a fraction of a second."""
    case.search.enumerate()


def anneal_shortly(case: Case, share: float) -> None:
    """Anneal from few seeds."""
    case.search.anneal(share, LIMITS.hurried_rounds)


def bound_by_weights(case: Case, share: float) -> None:
    """Bound the load by the weights of the files."""
    case.search.partition_bound(share)


def measure_model(case: Case, share: float) -> None:
    """Find out whether building the model takes at most *share* of the time left."""
    left = case.search.deadline.remaining()
    seconds = min(left, LIMITS.longest_search_seconds)
    most = LIMITS.terms_per_second * share * seconds
    case.builds = num_terms(case.search.instance) <= most


def anneal(case: Case, share: float) -> None:
    """Anneal from all seeds."""
    case.search.anneal(share, LIMITS.anneal_rounds)


def anneal_large(case: Case, share: float) -> None:
    """Anneal a large instance, from few seeds in a hurry.

    Annealing improves such a plan more than CP-SAT.
    """
    left = case.search.deadline.remaining()
    hurried = too_large(case) or left < LIMITS.hurry_seconds
    (anneal_shortly if hurried else anneal)(case, share)


def bound_by_shared_files(case: Case, share: float) -> None:
    """Bound the load by what shared files cost the nodes."""
    case.search.node_cut(share * case.search.deadline.remaining())


def leave_model(case: Case, share: float) -> None:
    """Say that the model was not built."""
    case.search.notes.append(
        "the integer program is too large for the time limit: only bounds and "
        "annealing were used"
    )


def solve_in_floats(case: Case, share: float) -> None:
    """Solve the model once on the backend that the user named."""
    assert case.backend is not None
    case.search.run_highs(case.backend)


def solve_on_cpsat(case: Case, share: float) -> None:
    """Solve the model once on CP-SAT: prove the optimum of a small instance, improve
    the plan of a large one.
    """
    case.search.run_cpsat(None, proof=small(case))


def prove_shortly(case: Case, share: float) -> None:
    """Try a short proof."""
    prove_counted(case.search, LIMITS.first_proof_seconds)


def anneal_again(case: Case, share: float) -> None:
    """Anneal from further seeds."""
    case.search.anneal(share, LIMITS.anneal_rounds, again=True)


def prove_in_parallel(case: Case, share: float) -> None:
    """Run the enumeration and CP-SAT until one of them has a proof."""
    case.search.race()


class Step(NamedTuple):
    """A step of the search: ``take(case, share)``, if all conditions ``when`` hold.

    The conditions are asked in their order, just before the step. ``share`` is of the
    time limit for annealing, and of the time left for other steps. A step of share 1
    may go on to the deadline, or has a limit of its own.
    """

    when: tuple[Callable[[Case], bool], ...]
    share: float
    take: Callable[[Case, float], None]


MODEL = (goes_on, builds)
PROOF = (*MODEL, no_backend, small)
STEPS = (
    Step((no_backend, tiny), 1.0, enumerate_plans),
    Step((may_anneal, loads_late), LIMITS.anneal_share, anneal_shortly),
    Step((goes_on,), LIMITS.weights_share, bound_by_weights),
    Step((), LIMITS.build_share, measure_model),
    Step((may_anneal, small), LIMITS.small_anneal_share, anneal),
    Step((may_anneal, large), LIMITS.anneal_share, anneal_large),
    Step((large, no_backend), LIMITS.cut_share, bound_by_shared_files),
    Step((goes_on, too_large), 1.0, leave_model),
    Step((*MODEL, in_floats), 1.0, solve_in_floats),
    Step((*MODEL, on_cpsat), 1.0, solve_on_cpsat),
    Step(PROOF, 1.0, prove_shortly),
    Step((*PROOF, may_anneal), LIMITS.small_anneal_share, anneal_again),
    Step(PROOF, 1.0, prove_in_parallel),
)
"""The steps of the search in their order."""


def climb(case: Case) -> None:
    """Take the steps of the search one after the other."""
    for step in STEPS:
        if all(holds(case) for holds in step.when):
            step.take(case, step.share)


def prove_counted(search: Search, seconds: float | None = None) -> None:
    """Enumerate, then run CP-SAT; both attempts are limited by counts, so that they can
    be repeated exactly, and the second also by *seconds* on the clock (None: not).
    """
    search.enumerate(fast=True)
    if not search.over():
        search.run_cpsat(seconds, work=LIMITS.first_proof_seconds)


def num_terms(instance: StaticInstance) -> int:
    """Return the approximate number of coefficients of the aggregated model."""
    requests = sum(len(group.inputs) for group in instance.classes)
    nodes = instance.num_nodes
    return nodes * (instance.num_files * (12 + 3 * nodes) + 4 * requests)
