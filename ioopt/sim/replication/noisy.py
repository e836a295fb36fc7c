"""Replay a plan under latency and unfair sharing (timeline rules 9 to 11).

The queues of the plan are replayed by the same rules; only the rates and the starts of
bytes differ, so later decisions of the replay may differ too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ioopt.compiled.library import Engine
from ioopt.errors import UsageError
from ioopt.problems.replication import (
    DRAWS,
    LinkModel,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.sim.replication import kernel
from ioopt.sim.replication.build import (
    Noise,
    build_world,
    maker_for,
    require_actual,
)
from ioopt.sim.replication.follow import Follower
from ioopt.sim.replication.simulate import Entries, stuck


def noise_of(
    problem: ReplicationProblem,
    sharing_noise: float | None = None,
    latency_seconds: float | None = None,
) -> Noise:
    """Return the noise asked for; what is None comes from the network of *problem*."""
    network = problem.network
    sigma = network.sharing_noise if sharing_noise is None else sharing_noise
    latency = network.latency_seconds if latency_seconds is None else latency_seconds
    return Noise(latency, sigma)


def noisy_makespans(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    noise: Noise,
    draws: int = DRAWS,
    link: LinkModel | None = None,
    actual: Mapping[str, float] | None = None,
    engine: Engine = "auto",
) -> list[float]:
    """Return the makespan, in seconds, of each of *draws* replays of *plan* under
    *noise*.

    Draw k, from 1 on, uses the weights of number k. Raises UsageError for a plan that
    was decided while tasks ran, whose queues say nothing about other times.
    """
    if plan.dispatches is not None:
        raise UsageError(
            "the plan was decided while tasks ran: its dispatches hold for its own "
            "times; name its dispatcher by --solver"
        )
    if plan.bound_moves is not None:
        bound = Follower(problem, plan, link, actual, noise)
        return [bound.run(draw) for draw in range(1, draws + 1)]
    require_actual(problem, actual)
    make = maker_for(problem, engine)
    parsed = Entries.of(problem, plan)
    queues = parsed.as_queues(plan)
    world = build_world(
        problem, queues, make, link, parsed.copy_files, actual, noise=noise
    )
    replay = make.function(kernel.replay)
    found = []
    for draw in range(1, draws + 1):
        world.draw = draw
        makespan, code = replay(world, float("inf"))
        if code == kernel.STUCK:
            raise stuck(problem, world, parsed, plan.carry_out)
        found.append(makespan)
    return found


SPREAD = ("least", "median", "p95", "most", "mean")


def spread_of(makespans: Sequence[float]) -> dict[str, float]:
    """Return the least, the median, the 95 % and the largest of noisy makespans, and
    their mean, in seconds.
    """
    least, median, p95, most = np.quantile(makespans, (0.0, 0.5, 0.95, 1.0)).tolist()
    mean = sum(makespans) / len(makespans)
    return dict(zip(SPREAD, (least, median, p95, most, mean), strict=True))
