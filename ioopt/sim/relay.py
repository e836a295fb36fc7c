"""Plain Python at once, compiled code as soon as that pays, and no compiling within a time limit.

Which engine is quicker depends on the work, which the number of jobs does not tell: what an event
costs goes with the size of the machine and the length of the queue. So a run begins in plain Python,
and its own pace says how long the rest will take. Both engines give one answer to the bit, so that
taking over means to begin anew.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from subprocess import Popen

from ioopt.compiled import available, compile_apart, is_kept
from ioopt.errors import OutOfTime
from ioopt.options import Deadline

JUDGE_FROM_SECONDS = 0.3
"""A run is not judged by less; most are over by then."""
LOADING_PAYS_SECONDS = 1.5
"""Rest of a plain run from which compiled code is loaded, which takes about a second."""
COMPILING_PAYS_SECONDS = 4.0
"""Rest of a plain run from which another process compiles, for this run or for the next."""
PATIENCE = 0.6
"""Share of a limit after which a run that cannot meet it is given up, for a cheaper one."""
COMPILER_SECONDS = 20.0
"""Less time left than that will not see another process's code ready."""
JUDGE_FROM_SHARE = 0.1
"""Share of a limit before which the pace is too unsure to give a run up."""
CHEAPER = 0.75
"""What a cheaper run takes of the time of any other; base-line takes .5 to .7 of it, gs less."""


class Handover(Exception):
    """Compiled code is ready and will be done sooner than the rest of the plain run."""


@dataclass
class Relay:
    """Decides during a plain run whether it continues to its end.

    *kernel* is ``module:function`` of the entry kernel, *compile_call* that of the function which
    compiles it (empty: there is no compiled form). The module is imported, and numba with it, only
    where compiled code would pay. A *patient* one, for which no cheaper run stands in, gives up at
    the deadline alone.
    """

    kernel: str = ""
    compile_call: str = ""
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    patient: bool = False
    clock: Callable[[], float] = time.process_time
    started: float = field(init=False)
    patience: Deadline = field(init=False)
    compiler: Popen[bytes] | None = field(default=None, init=False)
    _unsure: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        share = 1.0 if self.patient else PATIENCE
        left = self.deadline.remaining()
        self.patience = self.deadline.within(share * left)
        self._unsure = max(JUDGE_FROM_SECONDS, JUDGE_FROM_SHARE * left)

    def look(self, arrived: int, ended: int, total: int) -> None:
        """Judge by the jobs that have arrived and ended.

        Raises Handover; OutOfTime when the deadline has passed or cannot be met.
        """
        share = (arrived + ended) / (2 * total)
        spent = self.clock() - self.started
        rest = spent * (1.0 - share) / share if share else math.inf
        late = self.deadline.expired()
        if late or (rest > self.deadline.remaining() and self._gives_up(spent, rest)):
            needed = f"; about {math.ceil(spent + rest)} s would do" if share else ""
            raise OutOfTime(f"out of time with {ended} of {total} jobs finished{needed}")
        if spent < JUDGE_FROM_SECONDS or rest < LOADING_PAYS_SECONDS or not self.kernel:
            return
        if self.compiler is None or self.compiler.poll() is not None:
            self._compiled(rest)

    def _gives_up(self, spent: float, rest: float) -> bool:
        """Whether to leave what time there is to a cheaper run: it needs all of it, or half is gone."""
        left = self.deadline.remaining()
        if self.patient or left >= COMPILER_SECONDS or spent < self._unsure:
            return self.patience.expired()
        return left <= CHEAPER * (spent + rest) or self.patience.expired()

    def _compiled(self, rest: float) -> None:
        module, _, name = self.kernel.partition(":")
        if is_kept(getattr(import_module(module), name)):
            raise Handover
        if rest >= COMPILING_PAYS_SECONDS and self.compiler is None:
            self.compiler = compile_apart(self.compile_call)


def relay_to(
    module: str, kernel: str, deadline: Deadline | None = None, patient: bool = False
) -> Relay:
    """A relay to *kernel* of *module*, whose ``compile_kernels`` compiles it (no numba: to nothing)."""
    to = (f"{module}:{kernel}", f"{module}:compile_kernels") if module and available() else ("", "")
    return Relay(*to, deadline or Deadline(None), patient)
