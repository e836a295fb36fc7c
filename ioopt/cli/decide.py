"""``ioopt decide``: one decision from a snapshot of a running system."""

from __future__ import annotations

import sys
from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand, quiet
from ioopt.cli.options import file_argument, solver_options
from ioopt.cli.solve import exit_code
from ioopt.errors import UsageError
from ioopt.solving import load, solve

EPILOG = """\b
Examples:
  ioopt decide requests.json --solver adaptive
  cat matrix.json | ioopt decide - --solver migrate-iogs
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@click.option("--solver", metavar="NAME", help="The policy; default: the kind's own.")
@solver_options
def decide(file: str, solver: str | None, how: dict[str, Any]) -> int:
    """Decide once for the snapshot FILE (io-requests, gang-matrix, job-selection); prints the plan."""
    from ioopt.formats.native import dump_json

    problem = load(file)
    kind = registry.kind_of_problem(problem)
    if not kind.decision:
        able = ", ".join(spec.kind for spec in registry.KINDS.values() if spec.decision)
        raise UsageError(f"{file} is {kind.kind}; one decision is made from {able}; use solve")
    result = solve(problem, solver, bound=False, **how)
    click.echo(dump_json(result.to_dict()["plan"]), nl=False)
    if not quiet():
        for note in result.notes:
            print(f"note: {note}", file=sys.stderr)
    return exit_code(result)
