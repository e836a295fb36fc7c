"""Plain Python at once, compiled code as soon as that pays, and no compiling within a time limit.

Which engine is quicker depends on the work, which the number of jobs does not tell: what an event
costs goes with the size of the machine and the length of the queue. So a run begins in plain Python,
and its own pace says how long the rest will take. Both engines give one answer to the bit, so that
taking over means to begin anew.
"""

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
LOADING_SECONDS = 0.6
"""What loading numba and machine code takes."""
LOADING_PAYS_SECONDS = 1.5
"""Rest of a plain run from which compiled code is loaded, however much time there is."""
COMPILING_PAYS_SECONDS = 4.0
"""Rest of a plain run from which another process compiles, for this run or for the next."""
PATIENCE, LAST_PATIENCE = 0.6, 0.85
"""Share of a limit after which a run that cannot meet it is given up, for a cheaper one."""
COMPILER_SECONDS = 20.0
"""Less time left than that will not see another process's code ready."""
JUDGE_FROM_SHARE = 0.1
"""Share of a limit before which the pace is too unsure to give a run up."""
CHEAPER, LAST_CHEAPER = 0.75, 0.15
"""What a cheaper run takes of the time of any other: base-line .5 to .7, gs less; a plan in closed form."""


class Handover(Exception):
    """Compiled code is ready and will be done sooner than the rest of the plain run."""


@dataclass
class Relay:
    """Decides during a plain run whether it continues to its end.

    *kernel* is ``module:function`` of the entry kernel, *compile_call* that of the function which
    compiles it (empty: there is no compiled form). The module is imported, and numba with it, only
    where compiled code would pay. A *patient* one is the cheapest simulation there is; a plan in closed
    form stands in for it.
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
    _asked: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        left = self.deadline.remaining()
        self.patience = self.deadline.within(left * (LAST_PATIENCE if self.patient else PATIENCE))
        self._unsure = JUDGE_FROM_SHARE * left

    def look(self, arrived: int, ended: int, total: int) -> None:
        """Judge by the jobs that have arrived and ended.

        Raises Handover; OutOfTime when the deadline has passed or cannot be met.
        """
        share = (arrived + ended) / (2 * total)
        spent = self.clock() - self.started
        rest = spent * (1.0 - share) / share if share else math.inf
        left = self.deadline.remaining()
        if self.kernel and spent >= min(JUDGE_FROM_SECONDS, self._unsure) and left:
            self._look_for_code(spent, rest, left)
        if not left or (rest > left and self._gives_up(spent, rest, left)):
            needed = f"; about {math.ceil(spent + rest)} s would do" if share else ""
            raise OutOfTime(f"out of time with {ended} of {total} jobs finished{needed}")

    def _look_for_code(self, spent: float, rest: float, left: float) -> None:
        """Take over, or have compiled, what would be done sooner than the rest of the plain run."""
        new = self.compiler.poll() is not None if self.compiler else not self._asked
        if new and left > LOADING_SECONDS and rest >= min(LOADING_PAYS_SECONDS, left / 2):
            self._asked = True
            module, _, name = self.kernel.partition(":")
            if is_kept(getattr(import_module(module), name)):
                raise Handover
        long = spent >= JUDGE_FROM_SECONDS and rest >= COMPILING_PAYS_SECONDS
        if self.compiler is None and long:
            self.compiler = compile_apart(self.compile_call)

    def _gives_up(self, spent: float, rest: float, left: float) -> bool:
        """Whether to leave what time there is to a cheaper run: it needs all of it, or half is gone."""
        if left >= COMPILER_SECONDS or spent < self._unsure:
            return self.patience.expired()
        cheaper = LAST_CHEAPER if self.patient else CHEAPER
        return left <= cheaper * (spent + rest) or self.patience.expired()


def relay_to(
    module: str,
    kernel: str,
    deadline: Deadline | None = None,
    patient: bool = False,
    compile_call: str = "",
) -> Relay:
    """A relay to *kernel* of *module* (no numba: to nothing), which *compile_call* compiles.

    Unless told otherwise that is ``compile_kernels`` of the module.
    """
    compile_call = compile_call or f"{module}:compile_kernels"
    to = (f"{module}:{kernel}", compile_call) if module and available() else ("", "")
    return Relay(*to, deadline or Deadline(None), patient)
