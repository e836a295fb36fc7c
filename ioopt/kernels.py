"""Every kernel that numba compiles: how to have it compiled, by a run on the smallest of inputs.

``ioopt compile`` does so for all of them, so that no run finds its kernel missing.
"""

from typing import NamedTuple

from ioopt.catalog import resolve
from ioopt.compiled import is_ready
from ioopt.options import Deadline
from ioopt.registry import load_target, solvers_for
from ioopt.solving import load


class Kernel(NamedTuple):
    """What is compiled, of which family, and the function (``module:name``) that does it.

    Where machine code stands already, the function loads it. ``main`` is the kernel that is compiled
    last.
    """

    family: str
    name: str
    target: str
    main: str

    def compile(self) -> None:
        """Compile it, in this process."""
        load_target(self.target)()

    def ready(self) -> bool:
        """Whether its machine code stands on disk."""
        return is_ready(*self.main.split(":"))


def compile_batch_io() -> None:
    """Compile the simulator of traces and every policy of the registry."""
    from ioopt.registry.policies import io_policy
    from ioopt.sim.batch_io.compiled import compile_for

    compile_for(io_policy(row.name) for row in solvers_for("batch-io"))


def compile_enumeration() -> None:
    """Compile the search for proofs of small batches."""
    from ioopt.models.replication.static import reduce
    from ioopt.solvers.replication.exact.enumeration import Enumeration

    instance = reduce(load(resolve("image-16x3")))
    search = Enumeration(instance, "acyclic", True, Deadline(None), compiled=True)
    search.advance(1, lambda: False, lambda: 1, lambda moves: None)


def compile_quanta() -> None:
    """Compile the event simulator of quanta."""
    from ioopt.measure.quantum_event import simulate_point

    problem = load(resolve("quantum-ties"))
    short = problem.model_copy(update={"horizon_seconds": 1.0})
    simulate_point(short, problem.points[0], engine="compiled")


def compile_laboratory() -> None:
    """Compile the laboratory, an application of each sort."""
    from ioopt.measure.perturbation import run_times

    for name in ("perturbation-table-1", "perturbation-blocking"):
        problem = load(resolve(name))
        for app in problem.applications:
            run_times(problem, app, problem.environments[0], 1, 0, engine="compiled")


def compile_server() -> None:
    """Compile the I/O of loose processes."""
    import numpy as np

    from ioopt.measure.io_server import Windows, serve
    from ioopt.problems.flexgang.flexible_gang import IoBehaviour

    job = IoBehaviour(burst_seconds=1e-6, io_seconds=1e-6)
    serve(Windows(1, (0,), (1,)), [job], np.ones((1, 8), np.int64), 4, fast=True)


_HERE, _SOLVERS, _MEASURE = f"{__name__}:", "ioopt.solvers.replication.", "ioopt.measure."
_SIM = "ioopt.sim."

KERNELS = (
    Kernel("batch-io", "simulator, policies", _HERE + "compile_batch_io",
           _SIM + "batch_io.engine:advance"),
    Kernel("gang", "simulator", _SIM + "gang.compiled:compile_kernels",
           _SIM + "gang.clock:simulate"),
    Kernel("replication", "timeline", _SIM + "replication.simulate:compile_replay",
           _SIM + "replication.kernel:begin_or_advance"),
    Kernel("replication", "MinMin", _SOLVERS + "greedy.minmin:compile_kernel",
           _SOLVERS + "greedy.minmin_kernel:plan"),
    Kernel("replication", "link-aware", _SOLVERS + "search.link_search:compile_kernels",
           _SOLVERS + "search.link_kernel:anneal"),
    Kernel("replication", "anneal", _SOLVERS + "search.anneal:compile_kernel",
           _SOLVERS + "search.anneal_kernel:run"),
    Kernel("replication", "enumeration", _HERE + "compile_enumeration",
           _SOLVERS + "exact.enumeration_kernel:search"),
    Kernel("replication", "queues", _SOLVERS + "exact.exact_workflow:compile_kernels",
           _SOLVERS + "exact.queue_kernel:search"),
    Kernel("flexgang", "quanta", _HERE + "compile_quanta", _MEASURE + "io_kernel:walk"),
    Kernel("flexgang", "laboratory", _HERE + "compile_laboratory",
           _MEASURE + "perturbation_kernel:blocking"),
    Kernel("flexgang", "I/O server", _HERE + "compile_server", _MEASURE + "io_kernel:serve"),
)  # fmt: skip
