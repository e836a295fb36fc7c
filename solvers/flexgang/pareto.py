"""The lambda front of a flexible gang instance: I/O response against compute progress (F6)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from ioopt.options import Deadline, SolveOptions
from ioopt.problems.base import Json
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.flexgang.flexible_gang import REPORT_SEEDS, simulate
from ioopt.solvers.flexgang.exact import Candidate, rerank
from ioopt.solvers.flexgang.exact import solve as solve_exact
from ioopt.solvers.flexgang.strict import strict_plan

LAMBDAS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class FrontPoint:
    """One plan of the front, simulated on report seeds; ``lambda_`` None for a baseline.

    ``compute_progress`` is sum w (n/P) progress; ``dominated`` says that another point has both a
    shorter I/O response and more progress (or one of them and an equal other).
    """

    label: str
    lambda_: float | None
    k: int
    d: int
    io_response_seconds: float
    io_slowdown: float
    compute_progress: float
    cpu_utilisation: float
    dominated: bool = False

    def row(self) -> Json:
        """The point as one line of a table."""
        return asdict(self)


def lambda_front(
    problem: FlexibleGangProblem,
    lambdas: Sequence[float] = LAMBDAS,
    seconds: float = 10.0,
    seeds: Sequence[int] = REPORT_SEEDS,
) -> list[FrontPoint]:
    """Solve *problem* exactly for every lambda (*seconds* each) and simulate plans and baselines.

    The instance needs an I/O job and a compute job. Baselines come first, then rising lambda.
    """
    pool: list[Candidate] = []
    for label, fill in (("strict", False), ("strict-fill", True)):
        plan = strict_plan(problem, fill)
        if plan is not None:
            pool.append(Candidate(label, plan, 0.0, baseline=True))
    points = [_point(problem, item.label, None, item.plan, seeds) for item in pool]
    weighted = {value: problem.model_copy(update={"lambda_": value}) for value in lambdas}
    for value, changed in weighted.items():
        options = SolveOptions(time_limit_seconds=seconds, gap=0.005)
        outcome = solve_exact(changed, SolveRequest(options, Deadline(seconds)))
        if outcome.plan is not None:
            pool.append(Candidate(f"lambda {value:g}", outcome.plan, 0.0))
    for value, changed in weighted.items():
        # A plan found for one lambda may be the best one for another.
        plan = rerank(changed, pool)[0].candidate.plan
        points.append(_point(problem, f"lambda {value:g}", value, plan, seeds))
    return [_marked(point, points) for point in points]


def _point(
    problem: FlexibleGangProblem,
    label: str,
    value: float | None,
    plan: FlexibleGangPlan,
    seeds: Sequence[int],
) -> FrontPoint:
    metrics = simulate(problem, plan, seeds).metrics
    return FrontPoint(
        label, value, plan.k, plan.d, metrics["io_response_seconds"], metrics["io_slowdown"],
        metrics["compute_progress"], metrics["cpu_utilisation"],
    )  # fmt: skip


def _marked(point: FrontPoint, points: Sequence[FrontPoint]) -> FrontPoint:
    mine = (point.io_response_seconds, -point.compute_progress)
    beaten = any(
        other_response <= mine[0]
        and other_progress <= mine[1]
        and (other_response, other_progress) != mine
        for other_response, other_progress in (
            (other.io_response_seconds, -other.compute_progress) for other in points
        )
    )
    return replace(point, dominated=beaten)
