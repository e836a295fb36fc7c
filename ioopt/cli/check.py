"""``ioopt check``: is the instance valid, is the plan feasible, is its objective as stated?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import file_argument, read_problem, read_result
from ioopt.errors import ExitCode
from ioopt.formats.native import reading
from ioopt.result import Violation

EPILOG = """\b
Examples:
  ioopt check image.json
  ioopt check image.json result.json
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@click.argument("result", required=False)
def check(file: str, result: str | None) -> int:
    """Check FILE; with RESULT also its plan, schedule and objective. One line a violation."""
    problem = read_problem(file)
    kind = registry.kind_of_problem(problem)
    if result is None:
        click.echo(f"{file}: valid {kind.format} instance {problem.name!r}")
        return ExitCode.ANSWER
    data = read_result(result, kind)
    with reading(result):
        found = _violations(problem, data, result)
    for violation in found:
        click.echo(str(violation))
    if found:
        return ExitCode.VIOLATIONS
    click.echo(f"{result}: no violation")
    return ExitCode.ANSWER


def _violations(problem: Any, data: Mapping[str, Any], name: str) -> list[Violation]:
    from ioopt.solving import check_document

    return check_document(problem, data, name)
