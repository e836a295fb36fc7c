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
