"""``ioopt import solution``: the plan in what a solver wrote of an exported model."""

import click

from ioopt.cli.lazy import IooptCommand, set_option
from ioopt.cli.options import PATH, file_argument, output_option
from ioopt.errors import ExitCode, InstanceError, UsageError

EPILOG = """\b
Example:
  ioopt export lp cycle3 -o model.lp
  highs model.lp --solution_file model.sol     # or: cbc model.lp solve solution model.sol
  ioopt import solution cycle3 model.sol -o plan.json
  ioopt check cycle3 plan.json
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@click.argument("solution", metavar="SOLUTION", type=PATH)
@output_option(required=True, text="Where to write the plan.")
@set_option("A switch of the model, as it was exported.")
def import_solution(file: str, solution: str, output: str, settings: dict[str, str]) -> int:
    """Read the plan of FILE from SOLUTION, which a solver wrote for `ioopt export lp FILE` (or mps).

    HiGHS, CBC, GLPK, SCIP and Gurobi write such files: the name of a variable, then its value.
    """
    from ioopt import registry
    from ioopt.formats.native import dump_json, read_text, write_text
    from ioopt.solvers.model_files import plan_from_solution
    from ioopt.solving import load

    problem = load(file)
    kind = registry.kind_of_problem(problem).kind
    if kind != "replication":
        raise UsageError(f"{file} is {kind}; import solution takes replication")
    try:
        plan = plan_from_solution(problem, read_text(solution), settings)
    except InstanceError as error:
        raise InstanceError(f"{solution}: {error}") from None
    write_text(output, dump_json(plan.to_dict()))
    return ExitCode.ANSWER
