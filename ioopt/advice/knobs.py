"""What a site can switch on today: a setting of its queue or file system, at which level, and how.

What is simulated is the setting itself, not the policy that it stands in for. Names of Slurm are those
of its manual (slurm.conf, sbatch, srun), those of Lustre of its operations manual, "Network Request
Scheduler: TBF". The level is the best of a few on the log as it stands; what is reported are the other
drawings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ioopt.advice.runs import Option, Question, licensed, loads
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.units import quantity

LICENCES, RATE, TURNS, ORDER = "licences", "rate limit", "turns", "queue order"
RPC_BYTES = 4 << 20
"""Of one request to a Lustre server, at its default of 4 MiB."""


def knobs(question: Question, problem: BatchIoProblem) -> Iterator[list[Option]]:
    """The levels of each setting that makes a difference to *problem*; one of each list is advised."""
    machine = problem.machine
    yield [Option(TURNS, "cons-fcfs:preempt=no")]
    storage = machine.storage_bytes_per_second
    widest = max(machine.peak(machine.allocated_nodes(job.nodes)) for job in problem.jobs)
    rates = [storage / by for by in (2, 4) if storage / by < widest]
    if rates:
        yield [Option(RATE, job_rate=rate) for rate in rates]
    if not question.by_starts and machine.allocation == "flat":
        ideal = loads(problem).T[4]
        span = max(job.submit_seconds for job in problem.jobs) or 1.0
        running = float(ideal[licensed(problem)].sum()) / span
        counts = dict.fromkeys(max(1, math.ceil(running * by)) for by in (1, 3))
        yield [Option(LICENCES, licences=count) for count in counts]
    if question.yours and not question.by_starts:
        options = problem.options
        if options.backfill == "none":
            yield [Option(ORDER, queue=(("backfill", "easy"),))]
        elif options.backfill == "easy" and options.backfill_order == "queue":
            yield [Option(ORDER, queue=(("backfill_order", "sjf"),))]


def words(option: Option) -> str:
    """What is switched on, for a sentence."""
    if option.licences is not None:
        return f"licences for I/O-heavy jobs, {option.licences} of which run at once"
    if option.job_rate is not None:
        return f"a limit of {quantity('bytes_per_second', option.job_rate)} a job"
    if option.name == TURNS:
        return "I/O steps that take turns (a token file)"
    if option.queue:
        return " and ".join(f"{key}={value}" for key, value in option.queue)
    return option.name


def how(option: Option, problem: BatchIoProblem) -> list[str]:
    """Lines of configuration."""
    if option.licences is not None:
        rate = sorted(
            loads(problem)[licensed(problem)].T[2] / loads(problem)[licensed(problem)].T[4]
        )
        least = quantity("bytes_per_second", rate[0] if rate else 0.0)
        return [
            f"slurm.conf: Licenses=io:{option.licences}",
            f'job_submit.lua: job_desc.licenses = "io:1" for jobs that move {least} or more',
            "or by hand: sbatch -L io:1 job.sh",
        ]
    if option.job_rate is not None:
        calls = max(1, int(option.job_rate / RPC_BYTES))
        return [
            "lctl set_param -P jobid_var=SLURM_JOB_ID",
            'lctl set_param ost.OSS.ost_io.nrs_policies="tbf jobid"',
            f'lctl set_param ost.OSS.ost_io.nrs_tbf_rule="start jobs jobid={{*}} rate=N", N = {calls} '
            "RPCs/s of 4 MiB in all: divide by the number of OSS",
        ]
    if option.name == TURNS:
        return [
            "srun --prolog=turn-acquire.sh --epilog=turn-release.sh around each I/O step: docs, "
            '"Turns on a file system"',
        ]
    if dict(option.queue).get("backfill") == "easy":
        return ["slurm.conf: SchedulerType=sched/backfill"]
    return ["job_submit.lua: a higher job_desc.priority for shorter time limits"]
