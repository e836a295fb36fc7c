"""Define the options to compare: I/O policies, and settings that a site can switch on
today.

Each setting is simulated as such, not as the policy that it approximates. Names of
Slurm options are those of its manual (srun), names of Lustre options those of its
operations manual, "Network Request Scheduler: TBF". The level of a setting is chosen on
the log's own starts; its savings are reported from the other draws.
"""

from __future__ import annotations

from typing import NamedTuple

from ioopt.advice.workload import Workload
from ioopt.comparing import parse_solver
from ioopt.decisions.batch_io import IoPolicy
from ioopt.errors import UsageError
from ioopt.registry.policies import io_policy
from ioopt.solvers.batch_io.settings import Settings
from ioopt.units import quantity

BASELINE = "base-line"
"""The policy of today's file systems: all transfers share the storage."""
IDEAL = "no-congestion"
RPC_BYTES = 4 << 20
"""Bytes of one request to a Lustre server, at its default of 4 MiB."""
RATE_LEVELS = (2, 4)
"""The numbers by which the storage's rate is divided to get the rate limits to try."""


class Option(NamedTuple):
    """An option of a site: an I/O policy (``NAME:KEY=VALUE,...``), or a setting.

    ``job_rate`` limits the transfers of each job (bytes per second). Settings have
    ``words`` that say what is switched on, and ``lines`` of configuration.
    """

    name: str
    solver: str = BASELINE
    job_rate: float | None = None
    words: str = ""
    lines: tuple[str, ...] = ()

    def policy(self) -> IoPolicy:
        """Return the I/O policy.

        Raises UsageError for an unknown one, and for settings that are not its own.
        """
        name, settings = parse_solver(self.solver)
        for key in settings:
            if key in Settings.model_fields:
                raise UsageError(
                    f"{self.solver}: {key} is no setting of the policy {name}"
                )
        return io_policy(name, settings)


SHARING = Option(BASELINE)
FREE = Option(IDEAL, IDEAL)
TURNS = Option(
    "turns",
    "cons-fcfs:preempt=no",
    words="turns: I/O steps wait for each other (a token file)",
    lines=(
        "# each I/O step of a job script; both scripts: docs/io-turns.md",
        "srun --prolog=/etc/slurm/turn-acquire.sh "
        "--epilog=/etc/slurm/turn-release.sh COMMAND",
    ),
)


def policies(names: tuple[str, ...]) -> list[Option]:
    """Return the policies to compare; UsageError for an unknown one and for the
    baseline.
    """
    options = [Option(name, name) for name in dict.fromkeys(names)]
    if BASELINE in names or not options:
        raise UsageError(
            f"name policies to compare with {BASELINE}, not {BASELINE} itself"
        )
    if IDEAL in names:
        raise UsageError(f"{IDEAL} is the machine without congestion, and no policy")
    for option in options:
        option.policy()
    return options


def settings_of(workload: Workload) -> list[list[Option]]:
    """Return the levels of each setting that has an effect on *workload*."""
    widest = max(workload.trace.peak)
    rates = [workload.storage / by for by in RATE_LEVELS]
    limits = [rate_limit(rate) for rate in rates if rate < widest]
    levels = [[TURNS]]
    if limits:
        levels.append(limits)
    return levels


def rate_limit(rate: float) -> Option:
    """Return the setting that limits every job's transfers to *rate* bytes per
    second.
    """
    calls = max(1, int(rate / RPC_BYTES))
    return Option(
        "rate limit",
        job_rate=rate,
        words=f"a rate limit of {quantity('bytes_per_second', rate)} a job",
        lines=(
            "lctl set_param -P jobid_var=SLURM_JOB_ID",
            'lctl set_param ost.OSS.ost_io.nrs_policies="tbf jobid"',
            f"# {calls} RPCs/s of 4 MiB in all: divide by the number of OSS",
            "lctl set_param "
            f'ost.OSS.ost_io.nrs_tbf_rule="start jobs jobid={{*}} rate={calls}"',
        ),
    )
