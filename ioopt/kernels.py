"""Compile the kernels that span several modules; each function runs a small input,
which compiles one group of kernels.

:mod:`ioopt.compiled.choice` has the table of kernels.
"""

from ioopt.catalog import resolve
from ioopt.options import Deadline
from ioopt.registry import solvers_for
from ioopt.solving import load


def compile_batch_io() -> None:
    """Compile the simulator of batch I/O traces for every I/O policy of the
    registry.
    """
    from ioopt.families.batch_io import BatchIo
    from ioopt.registry.policies import io_policy
    from ioopt.sim.batch_io.simulate import compile_for

    rows = [row for row in solvers_for(BatchIo.kind) if row.policy is not None]
    compile_for(io_policy(row.name) for row in rows)


def compile_enumeration() -> None:
    """Compile the enumeration that proves optimal plans of small batches."""
    from ioopt.models.replication.static import reduce
    from ioopt.solvers.replication.exact.enumeration import Enumeration

    instance = reduce(load(resolve("image-16x3")))
    search = Enumeration(instance, "acyclic", True, Deadline(None), compiled=True)
    search.advance(1, lambda: False, lambda: 1, lambda moves: None)


def compile_laboratory() -> None:
    """Compile the simulated laboratory by running one application of each sort in
    it.
    """
    from ioopt.measure.laboratory import Laboratory

    for name in ("table-1", "blocking", "table-2"):
        problem = load(resolve(f"perturbation-{name}"))
        for app in problem.applications:
            Laboratory(problem, fast=True).times(app, problem.environments[0], 1, 0)


def compile_server() -> None:
    """Compile the server of I/O processes (:mod:`ioopt.measure.io_server`)."""
    import numpy as np

    from ioopt.measure.io_server import Windows, serve
    from ioopt.problems.flexgang.flexible_gang import IoBehaviour

    job = IoBehaviour(burst_seconds=1e-6, io_seconds=1e-6)
    serve(Windows(1, (0,), (1,)), [job], np.ones((1, 8), np.int64), 4, fast=True)
