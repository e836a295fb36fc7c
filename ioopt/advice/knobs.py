"""What a site can switch on today: a setting of its queue or file system, at
which level, and how.

What is simulated is the setting itself, not the policy that it stands in for. Names of
Slurm are those of its manual (slurm.conf, sbatch, srun), those of Lustre of its
operations manual, "Network Request Scheduler: TBF". The level is the best of a few on
the log as it stands; what is reported are the other drawings.
"""

from __future__ import annotations

from collections.abc import Iterator

from ioopt.advice.runs import Option, Question
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.units import quantity

TURNS = Option(
    "turns",
    "cons-fcfs:preempt=no",
    words="turns: I/O steps wait for each other (a token file)",
    how=(
        "srun --prolog=turn-acquire.sh --epilog=turn-release.sh around each I/O step: docs, "
        '"Turns on a file system"',
    ),
)
RPC_BYTES = 4 << 20
"""Of one request to a Lustre server, at its default of 4 MiB."""
EASY = Option(
    "queue order",
    queue=(("backfill", "easy"),),
    words="EASY backfilling",
    how=("slurm.conf: SchedulerType=sched/backfill",),
)
SHORTEST = Option(
    "queue order",
    queue=(("backfill_order", "sjf"),),
    words="shorter jobs first in backfilling",
    how=("job_submit.lua: a higher job_desc.priority for shorter time limits",),
)


def knobs(question: Question, problem: BatchIoProblem) -> Iterator[list[Option]]:
    """The levels of each setting that makes a difference to *problem*; one of
    each list is advised.

    What holds jobs back in the queue is told only where its waits are the log's.
    """
    machine, queue = problem.machine, problem.options
    yield [TURNS]
    storage = machine.storage_bytes_per_second
    widest = max(
        machine.peak(machine.allocated_nodes(job.nodes)) for job in problem.jobs
    )
    rates = [storage / by for by in (2, 4) if storage / by < widest]
    if rates:
        yield [_limit(rate) for rate in rates]
    if not question.yours or question.player:
        return
    if queue.backfill_order == "queue":
        yield from [
            [option]
            for kind, option in (("none", EASY), ("easy", SHORTEST))
            if queue.backfill == kind
        ]


def _limit(rate: float) -> Option:
    """No job transfers faster than *rate* bytes per second."""
    calls = max(1, int(rate / RPC_BYTES))
    return Option(
        "rate limit",
        job_rate=rate,
        words=f"a rate limit of {quantity('bytes_per_second', rate)} a job",
        how=(
            "lctl set_param -P jobid_var=SLURM_JOB_ID",
            'lctl set_param ost.OSS.ost_io.nrs_policies="tbf jobid"',
            f'lctl set_param ost.OSS.ost_io.nrs_tbf_rule="start jobs jobid={{*}} rate=N", N = {calls} '
            "RPCs/s of 4 MiB in all: divide by the number of OSS",
        ),
    )
