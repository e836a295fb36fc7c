"""The model's objective of a plan, for solvers that compare plans (the checker has its own)."""

from __future__ import annotations

import math

from ioopt.models.flexgang.frame import PatternData
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan


def model_objective(data: PatternData, plan: FlexibleGangPlan) -> float:
    """sum w (n/P) pr - lambda sum w (n/P)(S - 1) of *plan* in the pattern of *data* (F5)."""
    problem, frame = data.problem, data.pattern.frame_seconds
    terms = []
    for j, job in enumerate(problem.jobs):
        if job.is_io:
            terms.append(-data.io_penalty(j, job.id in plan.loose))
            continue
        rows = len(plan.rows.get(job.id, ())) * problem.machine.quantum_seconds
        loose = (1.0 - (job.gamma or 0.0)) * plan.tau_seconds.get(job.id, 0.0)
        terms.append(problem.share(j) * (rows + loose) / frame)
    return math.fsum(terms)
