"""Registry of the flexgang family."""

from __future__ import annotations

from ioopt.registry.types import KindSpec, SolverSpec

KINDS: tuple[KindSpec, ...] = ()

SOLVERS: tuple[SolverSpec, ...] = ()
