"""Machine code or plain Python: one rule for all families, asked once a run
and held to its end.

A run asks after its cheap answers. Plain Python serves short work. Longer work takes
machine code that stands ready on disk where the limit leaves room to load it. Where
none stands ready, another process compiles it. With a limit of a minute or more (or
none) the run waits for that, up to half of its limit: on a busy machine compiling
takes many times its processor time. Else it goes on in plain Python, and the next
run finds machine code.
"""

import atexit
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

from ioopt.compiled import available, is_kept
from ioopt.compiled import compiled as _compiled
from ioopt.options import Deadline
from ioopt.version import __version__

LOADING_SECONDS = 1.0
"""What loading numba and machine code takes on a busy machine."""
LONG_LIMIT_SECONDS = 60.0
LOOK_EVERY_SECONDS = 0.1
"""How often a run looks whether what it waits for is compiled."""

say: Callable[[str], None] = lambda line: None  # noqa: E731
"""What tells the user that a kernel is compiled; the command line writes
it to standard error.
"""


class Kernel(NamedTuple):
    """A kernel (``module:function``) of a family, and the
    ``module:function`` that compiles it.

    Where machine code stands already, the latter loads it. ``main`` is the kernel that
    is compiled last; ``seconds`` are about what compiling takes.
    """

    family: str
    name: str
    target: str
    main: str
    seconds: float = 10.0

    def ready(self) -> bool:
        """Whether its machine code stands on disk; numba is imported
        where a stamp says so.
        """
        if not available() or not _stamp(self).exists():
            return False
        module, _, name = self.main.partition(":")
        return is_kept(_compiled(module, name))

    def compile(self) -> None:
        """Compile it in this process, and leave a stamp."""
        resolve_name(self.target)()
        with suppress(
            OSError
        ):  # a folder that cannot be written: compiled again by the next run
            _stamp(self).parent.mkdir(parents=True, exist_ok=True)
            _stamp(self).touch()


_CALLS, _SEARCH = "ioopt.kernels:", "ioopt.solvers.replication."
KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel(
            "batch-io",
            "batch I/O",
            _CALLS + "compile_batch_io",
            "ioopt.sim.batch_io.engine:advance",
            45.0,
        ),
        Kernel(
            "gang",
            "gangs",
            "ioopt.sim.gang.compiled:compile_kernels",
            "ioopt.sim.gang.clock:simulate",
        ),
        Kernel(
            "replication",
            "timeline",
            "ioopt.sim.replication.simulate:compile_replay",
            "ioopt.sim.replication.kernel:begin_or_advance",
        ),
        Kernel(
            "replication",
            "link-aware",
            _SEARCH + "search.link_search:compile_kernels",
            _SEARCH + "search.line_kernel:anneal",
        ),
        Kernel(
            "replication",
            "enumeration",
            _CALLS + "compile_enumeration",
            _SEARCH + "exact.enumeration_kernel:search",
        ),
        Kernel(
            "replication",
            "queues",
            _SEARCH + "exact.exact_workflow:compile_kernels",
            _SEARCH + "exact.queue_kernel:search",
        ),
        Kernel(
            "replication",
            "anneal",
            _SEARCH + "search.anneal:compile_kernel",
            _SEARCH + "search.anneal_kernel:run",
        ),
        Kernel(
            "flexgang",
            "laboratory",
            _CALLS + "compile_laboratory",
            "ioopt.measure.perturbation_kernel:program",
        ),
        Kernel(
            "flexgang",
            "I/O server",
            _CALLS + "compile_server",
            "ioopt.measure.io_kernel:serve",
        ),
    )
}
"""Every kernel by name, in the order in which ``ioopt doctor --compile`` makes them."""


def use_machine_code(name: str, deadline: Deadline, plain_seconds: float) -> bool:
    """Whether a run goes on with kernel *name*: asked once, after the cheap answers.

    *plain_seconds* is about what the rest of the run takes in plain Python, capped by
    its limit. What this process has loaded it goes on with.
    """
    if name in _loaded:
        return True
    if not available() or plain_seconds < LOADING_SECONDS:
        return False
    kernel, left = KERNELS[name], deadline.remaining()
    if left > 2 * LOADING_SECONDS and kernel.ready():
        _loaded.add(name)
        return True
    if (
        plain_seconds >= kernel.seconds
        and deadline.run_seconds >= LONG_LIMIT_SECONDS
        and left > 2 * kernel.seconds
    ):
        begun = time.perf_counter()
        say(f"compiling {kernel.family}, {kernel.name}: once on this machine")
        if not compile_beside(kernel.family, kernel.name, left / 2):
            say(
                "compiling takes longer than this run allows; continuing uncompiled. "
                "The next run will be faster."
            )
            return False
        say(f"compiled in {time.perf_counter() - begun:.0f} s")
        _loaded.add(name)
        return True
    if left > 2 * LOADING_SECONDS:
        compile_beside(kernel.family)
    return False


_loaded: set[str] = set()
_COMPILERS: dict[str, subprocess.Popen[bytes]] = {}


def compile_beside(family: str, first: str = "", wait_seconds: float = 0.0) -> bool:
    """Have another process compile the kernels of *family*; it ends by itself, or
    as this one is killed.

    Whether kernel *first*, which comes first, was made within *wait_seconds*.
    """
    running = _COMPILERS.get(family)
    if running is None or running.poll() is not None:
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import "
            "compile_for_parent as c"
        )
        running = _COMPILERS[family] = subprocess.Popen(
            [sys.executable, "-c", f"{code}; c({family!r}, {first!r})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(_let_go, running)
    if not wait_seconds:
        return False
    end, kernel = time.monotonic() + wait_seconds, KERNELS[first]
    while not kernel.ready() and running.poll() is None and time.monotonic() < end:
        time.sleep(LOOK_EVERY_SECONDS)
    return kernel.ready()


def _let_go(compiler: subprocess.Popen[bytes]) -> None:
    """This process ends by itself: what *compiler* makes is for the next one."""
    with suppress(OSError):  # it has ended
        os.write(compiler.stdin.fileno() if compiler.stdin else -1, b".")


def compile_for_parent(family: str, first: str = "") -> None:
    """:func:`compile_family` in a process that ends where its parent is killed:
    its input then ends.
    """
    threading.Thread(target=lambda: os.read(0, 1) or os._exit(1), daemon=True).start()
    compile_family(family, first)


def compile_family(family: str, first: str = "") -> None:
    """Compile every kernel of *family*, one process of this machine after the other.

    Kernel *first*, which a run waits for, comes first; the others are made at low
    priority. Of several processes that begin on a machine without machine code the
    first compiles; the others wait and then find it. What is locked is this file, which
    need not be writable.
    """
    with open(__file__, "rb") as source:
        with suppress(
            ImportError, OSError
        ):  # no locks on this system, or this file system
            import fcntl

            fcntl.flock(source, fcntl.LOCK_EX)
        if first and not KERNELS[first].ready():
            KERNELS[first].compile()
        with suppress(AttributeError, OSError):  # no priorities on this system
            os.nice(10)
        for kernel in KERNELS.values():
            if kernel.family == family and not kernel.ready():
                kernel.compile()


def _stamp(kernel: Kernel) -> Path:
    """A file that says the machine code of *kernel* was made: asking numba takes .3 s.

    It lies where numba keeps code: in NUMBA_CACHE_DIR, else beside this file,
    else below the home.
    """
    folder = Path(
        os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__"
    )
    if "NUMBA_CACHE_DIR" not in os.environ and not os.access(folder.parent, os.W_OK):
        folder = Path.home() / ".cache" / "ioopt"
    name = kernel.name.replace("/", "-").replace(" ", "-")
    return folder / f"{name}-{__version__}-{sys.implementation.cache_tag}.made"
