"""Choose machine code or plain Python, once in a run and by one rule for all families.

A run decides after its cheap answers. Short work is done in plain Python. Longer work
uses stored machine code if the time limit leaves time to load it. If no machine code is
stored, another process compiles it. If the limit is at least a minute (or there is
none), the run waits for the compiler. It waits up to half of its limit, because on a
busy machine compiling takes many times its processor time. Otherwise the run continues
in plain Python, and the next run finds the machine code.
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
"""Seconds that loading numba and machine code takes on a busy machine."""
LONG_LIMIT_SECONDS = 60.0
LOOK_EVERY_SECONDS = 0.1
"""Seconds between two checks whether compiling has finished."""

say: Callable[[str], None] = lambda line: None  # noqa: E731
"""Function that tells the user that a kernel is being compiled. The command line sets
it to write to standard error.
"""


class Kernel(NamedTuple):
    """A kernel of a family, and the function that compiles it or loads its code.

    ``target`` names this function as ``module:function``. ``main`` names the kernel
    function that is compiled last, in the same form. ``seconds`` is the approximate
    compile time.
    """

    family: str
    name: str
    target: str
    main: str
    seconds: float = 10.0

    def ready(self) -> bool:
        """Return whether the machine code of the kernel is stored.

        numba is imported only if the kernel has a stamp.
        """
        if not available() or not _stamp(self).exists():
            return False
        module, _, name = self.main.partition(":")
        return is_kept(_compiled(module, name))

    def compile(self) -> None:
        """Compile the kernel in this process, and leave a stamp."""
        resolve_name(self.target)()
        with suppress(
            OSError
        ):  # If the folder cannot be written, the next run compiles again.
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
            "queues",
            _SEARCH + "exact.exact_workflow:compile_kernels",
            _SEARCH + "exact.queue_kernel:search",
        ),
    )
}
"""All kernels by name, in the order in which ``ioopt doctor --compile`` makes them."""


def use_machine_code(name: str, deadline: Deadline, plain_seconds: float) -> bool:
    """Return whether the run continues with the machine code of kernel *name*.

    A run calls this once, after its cheap answers. *plain_seconds* is about the time
    that the rest of the run takes in plain Python, limited by the time limit. A kernel
    that this process has loaded stays in use.
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
    """Let another process compile the kernels of *family*.

    Kernel *first* is compiled first. Wait for it up to *wait_seconds* and return
    whether it is ready. The other process ends by itself, or when this one is killed.
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
    """Let the process *compiler* continue: its machine code is for the next process."""
    with suppress(OSError):  # The compiler has ended already.
        os.write(compiler.stdin.fileno() if compiler.stdin else -1, b".")


def compile_for_parent(family: str, first: str = "") -> None:
    """Run :func:`compile_family` in a process that ends when its parent is killed.

    The process reads its standard input, which ends with the parent.
    """
    threading.Thread(target=lambda: os.read(0, 1) or os._exit(1), daemon=True).start()
    compile_family(family, first)


def compile_family(family: str, first: str = "") -> None:
    """Compile every kernel of *family*, while no other process of this machine does so.

    Kernel *first*, for which a run waits, is compiled first. The others are compiled at
    low priority. If several processes start without machine code, the first one
    compiles. The others wait and then load the machine code. The lock is on this file,
    which need not be writable.
    """
    with open(__file__, "rb") as source:
        with suppress(ImportError, OSError):  # This system or file system has no locks.
            import fcntl

            fcntl.flock(source, fcntl.LOCK_EX)
        if first and not KERNELS[first].ready():
            KERNELS[first].compile()
        with suppress(AttributeError, OSError):  # This system has no priorities.
            os.nice(10)
        for kernel in KERNELS.values():
            if kernel.family == family and not kernel.ready():
                kernel.compile()


def _stamp(kernel: Kernel) -> Path:
    """Return the path of the file that marks *kernel* as compiled.

    The file saves .3 s compared with asking numba. It is in numba's cache: in
    NUMBA_CACHE_DIR, else beside this file, else in the home folder.
    """
    folder = Path(
        os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__"
    )
    if "NUMBA_CACHE_DIR" not in os.environ and not os.access(folder.parent, os.W_OK):
        folder = Path.home() / ".cache" / "ioopt"
    name = kernel.name.replace("/", "-").replace(" ", "-")
    return folder / f"{name}-{__version__}-{sys.implementation.cache_tag}.made"
