"""Checker of job selections: known jobs, once each, within every capacity, and what they are worth."""

import math
from collections import Counter
from collections.abc import Mapping

from ioopt.problems.base import Json
from ioopt.problems.job_selection import JobSelectionPlan, JobSelectionProblem, SelectionJob
from ioopt.protocols import CheckReport
from ioopt.result import violation

ROUNDING = 1e-14
"""Of the sizes of all terms: a few units in the last place of each."""


def check(
    problem: JobSelectionProblem,
    plan: JobSelectionPlan | Json | None,
    schedule: Json | None = None,
) -> CheckReport:
    """Violations of a selection, and its ``selection_value`` recomputed from the definition."""
    if plan is None:
        return CheckReport((violation("plan", problem.name, "there is no plan"),))
    names = (
        JobSelectionPlan.model_validate(plan).chosen if isinstance(plan, Mapping) else plan.chosen
    )
    known = {job.id: job for job in problem.jobs}
    found = [violation("jobs", name, "there is no such job") for name in names if name not in known]
    found += [
        violation("jobs", name, f"is chosen {count} times")
        for name, count in Counter(names).items()
        if count > 1
    ]
    chosen = [known[name] for name in dict.fromkeys(names) if name in known]
    for resource, capacity in problem.capacities.items():
        used = sum(job.resources.get(resource, 0) for job in chosen)
        if used > capacity:
            text = f"{used} are used of {capacity}"
            excess = float(used - capacity)
            found.append(violation("capacity", resource, text, excess))
    terms, deleted = _worth(problem, chosen)
    value = {"selection_value": math.fsum(terms)}
    metrics = {
        **value,
        "selected_jobs": len(chosen),
        "selected_cores": sum(job.cores for job in chosen),
        "deleted_bytes": deleted,
    }
    rounding = ROUNDING * math.fsum(map(abs, terms))
    return CheckReport(tuple(found), value, metrics, rounding=rounding)


def _worth(problem: JobSelectionProblem, chosen: list[SelectionJob]) -> tuple[list[float], int]:
    """The terms of a selection's value, and the bytes that can be deleted after it.

    With G the gigabytes of all temporary files (1 at least) and C the cores of all jobs: a priority
    counts 4 C G, a core 2 G, a deleted gigabyte G, a gigabyte read 1 / its readers.
    """
    giga = {file.id: file.bytes / 1e9 for file in problem.files}
    total = max(math.fsum(giga.values()), 1.0)
    cores = max(sum(job.cores for job in problem.jobs), 1)
    terms, deleted = [], 0
    for job in chosen:
        terms += [4.0 * cores * total * job.priority, 2.0 * total * job.cores]
    read = Counter(name for job in chosen for name in job.temp)
    for file in problem.files:
        readers = problem.readers[file.id]
        if read[file.id]:
            terms.append(giga[file.id] * read[file.id] / readers)
        if readers and read[file.id] == readers:
            terms.append(total * giga[file.id])
            deleted += file.bytes
    return terms, deleted
