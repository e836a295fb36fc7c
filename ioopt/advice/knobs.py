"""Define the options to compare: I/O policies, and settings that a site can switch on
today.

Each setting is simulated itself, not as the policy to which it is similar. The names of
Slurm options are those of the Slurm manual (srun); the names of Lustre options are
those of the Lustre operations manual, "Network Request Scheduler: TBF". The level of a
setting is chosen on the start times in the log, at each point anew; its savings are
computed on the other draws.
"""

from __future__ import annotations

import json
import math
from typing import NamedTuple

import numpy as np

from ioopt.advice.workload import Point, Workload
from ioopt.decisions.batch_io import IoPolicy
from ioopt.errors import UsageError
from ioopt.formats.io_rule import GIVEN
from ioopt.options import parse_solver
from ioopt.problems.batch_io import Machine
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.settings import Settings
from ioopt.units import quantity, whole

BASELINE = "base-line"
"""The policy of today's file systems: all transfers share the storage rate."""
IDEAL = "no-congestion"
RPC_BYTES = 4 << 20
"""The number of bytes of one request to a Lustre server, with the default setting of 4
MiB.
"""
RATE_LEVELS = (2, 4)
"""The rate limits to try are the storage rate divided by these numbers."""


BYTE_SHARES = (0.9, 0.75, 0.5)
"""The least sizes of I/O steps with a turn to try are those at which these shares of
the bytes are in such steps.
"""


class Option(NamedTuple):
    """An option that a site has: an I/O policy (``NAME:KEY=VALUE,...``) or a setting.

    ``job_rate`` limits the rate of each job's transfers (bytes per second). A setting
    also has ``words``, which describe it, ``level``, the level at which it is tried, if
    it has several, and ``lines``, its configuration.
    """

    name: str
    solver: str = BASELINE
    job_rate: float | None = None
    words: str = ""
    level: str = ""
    lines: tuple[str, ...] = ()

    def policy(self) -> IoPolicy:
        """Return the I/O policy of this option.

        Raises UsageError for an unknown policy, and for settings that do not belong to
        the policy.
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
    "turns",
    words="turns: all I/O in steps that wait for each other (tickets)",
)


def policies(names: tuple[str, ...]) -> list[Option]:
    """Return an option for each of the policies *names*. Raises UsageError for an
    unknown policy and for the baseline.
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


def suspends(option: Option) -> bool:
    """Return whether *option* needs a file system that stops and resumes the transfers
    of single jobs.
    """
    return option.job_rate is None and parse_solver(option.solver)[0] != TURNS.solver


def settings_at(workload: Workload, point: Point, scale: float) -> list[list[Option]]:
    """Return a list of options for each setting that has an effect on *workload* at
    *point*, where assumed bytes are multiplied by *scale*: the levels at which the
    setting is tried.
    """
    trace = workload.at(point, scale=scale)
    rates = [point.storage / by for by in RATE_LEVELS]
    widest = max(trace.peak)
    levels = [
        [_on_machine(TURNS, workload, trace)],
        [rate_limit(rate) for rate in rates if rate < widest],
        _turns_of_large(workload, trace),
    ]
    return [options for options in levels if options]


def _turns_of_large(workload: Workload, trace: Trace) -> list[Option]:
    """Return the settings that give turns to large I/O steps alone, one for each least
    size of such a step.

    The sizes are those of the steps of *trace*, rounded down to two digits. A size that
    all steps have is left out.
    """
    sizes = np.array(trace.volume, float)
    falling = np.sort(sizes[sizes > 0])[::-1]
    if not len(falling):
        return []
    moved = np.cumsum(falling)
    places = np.searchsorted(moved, np.multiply(BYTE_SHARES, moved[-1]))
    levels = [_two_digits(size) for size in falling[places].tolist()]
    found = []
    for least in dict.fromkeys(levels):
        if least > falling[-1]:
            turns = Option(
                "turns for large steps",
                f"{TURNS.solver}:least_bytes={least:g}",
                words=f"turns for I/O steps of at least {quantity('bytes', least)} "
                "(tickets); smaller ones go on at once",
                level=quantity("bytes", least),
            )
            found.append(_on_machine(turns, workload, trace, least_bytes=least))
    return found


def _two_digits(size: float) -> float:
    """Return the number of bytes *size*, rounded down to two digits."""
    unit = 10 ** max(0, math.floor(math.log10(size)) - 1)
    return float(math.floor(size / unit) * unit)


def _on_machine(
    turns: Option, workload: Workload, trace: Trace, **more: float
) -> Option:
    """Return the setting *turns* with the lines that install it, among them the file
    that tells its script what machine the jobs of *trace* run on, and *more*.
    """
    machine = trace.machine
    values = {**machine.model_dump(), **more}
    keys = {key: whole(value) for key, value in values.items()}
    lines = [
        "# Once, as root. First install the scripts and the Epilog: docs/io-turns.md "
        'of ioopt, "With Slurm".',
        "# /shared, here and in the scripts, is your file system of all nodes.",
    ]
    if workload.nodes_source != GIVEN:
        lines.append(
            f"# Not given: nodes, here {machine.nodes}. Write how many there are: a "
            "job of more nodes goes on without a turn."
        )
    lines += [
        "install -d -m 1777 /shared/turns",
        "touch /shared/turns/lock && chmod 666 /shared/turns/lock",
        f"echo '{json.dumps(keys)}' > machine.json",
        "install -m 644 machine.json /shared/turns/",
        *_step_lines(machine),
    ]
    return turns._replace(lines=tuple(lines))


def _step_lines(machine: Machine) -> list[str]:
    """Return the lines that run an I/O step in its turn: by one node if it can fill the
    storage, else by all nodes of the job, as in the simulation.
    """
    node = machine.node_bytes_per_second
    storage = machine.storage_bytes_per_second
    lines = ["# Then around each I/O step; FOLDER and COMMAND are yours."]
    nodes, tasks = "1", "-N1 -n1"
    if node < storage:
        nodes = "$SLURM_JOB_NUM_NODES"
        tasks = f'-N"{nodes}" --ntasks-per-node=1'
        lines.append(
            "# COMMAND runs once on each node of the job; each must move its part of "
            "FOLDER. A copy by one node"
        )
        lines.append(
            f"# ({quantity('bytes_per_second', node)} of "
            f"{quantity('bytes_per_second', storage)}) holds its turn longer than "
            "simulated, and may save nothing."
        )
    lines += [
        "# Tried with Slurm 22.05 and 4 nodes on one machine, not on a large one.",
        f"IO_NODES={nodes} IO_BYTES=$(du -sb FOLDER | cut -f1) srun {tasks} "
        "--prolog=/etc/slurm/turn-acquire.sh --epilog=/etc/slurm/turn-release.sh "
        "COMMAND",
    ]
    return lines


def rate_limit(rate: float) -> Option:
    """Return the setting that limits the transfers of every job to *rate* bytes per
    second.
    """
    calls = max(1, int(rate / RPC_BYTES))
    return Option(
        "rate limit",
        job_rate=rate,
        level=quantity("bytes_per_second", rate),
        words=f"a rate limit of {quantity('bytes_per_second', rate)} a job",
        lines=(
            "lctl set_param -P jobid_var=SLURM_JOB_ID",
            'lctl set_param ost.OSS.ost_io.nrs_policies="tbf jobid"',
            f"# {calls} RPCs/s of 4 MiB in all: divide by the number of OSS",
            "lctl set_param "
            f'ost.OSS.ost_io.nrs_tbf_rule="start jobs jobid={{*}} rate={calls}"',
        ),
    )
