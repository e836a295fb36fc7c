"""Solve a program by one of the floating-point backends: HiGHS, SCIP and CBC."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec

from ioopt.errors import UsageError
from ioopt.models.program import Number, Program
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits, judged

BACKENDS = ("HiGHS", "CBC", "SCIP")


def available() -> tuple[str, ...]:
    """Return the names of the backends that can run on this machine, the preferred
    first.
    """
    from ioopt.solvers.backends import pulp_program

    ortools = find_spec("ortools") is not None
    here = {
        "HiGHS": ortools,
        "CBC": pulp_program.cbc_path() is not None,
        "SCIP": ortools,
    }
    return tuple(name for name in BACKENDS if here[name])


def load_backend(name: str) -> None:
    """Import the packages of a backend, CP-SAT or one of :data:`BACKENDS`.

    Raise BackendMissingError if they are not installed.
    """
    if name == "CP-SAT":
        from ioopt.solvers.backends.cpsat_program import load_cp_model

        load_cp_model()
    elif name == "CBC":
        from ioopt.solvers.backends.pulp_program import cbc_path

        cbc_path()
    else:
        from ioopt.solvers.backends.mathopt_program import load_mathopt

        load_mathopt()


def solve_program(
    program: Program,
    backend: str | None,
    limits: BackendLimits,
    start: Mapping[int, Number] | None = None,
) -> BackendAnswer:
    """Solve *program* by one of :data:`BACKENDS` (None: HiGHS) within *limits*.

    Without ``limits.gap`` only a proof ends a run. *start* is keyed by position. A
    solution counts only if its values satisfy every row. Values of times are in
    seconds; objective and bound are in the units of the program. Raise
    BackendMissingError if the backend is not installed, and BackendFailureError if it
    ends with an unknown status.
    """
    name = backend or "HiGHS"
    if name not in BACKENDS:
        raise UsageError(f"no backend {name!r}; known: {', '.join(BACKENDS)}")
    # Imported here, because most runs need neither of them.
    from ioopt.solvers.backends import mathopt_program, pulp_program

    begun = time.monotonic()
    unit = program.unit
    written = program.in_seconds()
    begin: dict[int, float] = {}
    for at, value in (start or {}).items():
        if program.variables[at].nature == "time":
            begin[at] = float(value * unit)
        else:
            begin[at] = float(value)
    limits = limits.after(time.monotonic() - begun)
    if name == "CBC":
        answer = pulp_program.solve_cbc(written, limits, begin)
    else:
        answer = mathopt_program.solve_by_mathopt(written, name, limits, begin)
    answer = judged(written, answer)

    def units(seconds: float | None) -> float | None:
        """Convert *seconds* to units of the program."""
        if seconds is None or unit == 1:
            return seconds
        return float(Fraction(seconds) / unit)

    return replace(
        answer,
        objective=units(answer.objective),
        bound=units(answer.bound),
        seconds=time.monotonic() - begun,
    )
