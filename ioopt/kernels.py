"""Compile the kernels that span several modules; each function runs a small input,
which compiles one group of kernels.

:mod:`ioopt.compiled.choice` has the table of kernels.
"""

from ioopt.registry import solvers_for


def compile_batch_io() -> None:
    """Compile the simulator of batch I/O traces for every I/O policy of the
    registry.
    """
    from ioopt.families.batch_io import BatchIo
    from ioopt.registry.policies import io_policy
    from ioopt.sim.batch_io.simulate import compile_for

    rows = [row for row in solvers_for(BatchIo.kind) if row.policy is not None]
    compile_for(io_policy(row.name) for row in rows)
