"""``ioopt import sol``: read the solution of an exported model back as a result."""

import click

from ioopt.cli.lazy import WritingCommand, set_option
from ioopt.cli.options import PATH, files, format_option, output_option
from ioopt.cli.solve import exit_code, print_result
from ioopt.loading import load

SOL = """\b
Examples:
  ioopt export lp cycle3 -o cycle3.lp
  cbc cycle3.lp solve solution cycle3.sol
  ioopt import sol cycle3.sol --instance cycle3 -o cycle3.json
  ioopt import sol printed.sol --instance cycle3 --model printed.lp -o printed.json
"""


@click.command(name="sol", cls=WritingCommand, epilog=SOL)
@click.argument("source", metavar="FILE", type=PATH)
@click.option(
    "--instance",
    required=True,
    metavar="INSTANCE",
    shell_complete=files,
    help="The instance whose model was exported: a file, or a bundled instance.",
)
@click.option(
    "--model",
    metavar="FILE|NAME",
    help="The exported .lp or .mps file, whose comments name the model and its "
    "settings; or the name of the model. Not needed for a default export.",
)
@set_option("The settings of the export, if --model gives no file.")
@output_option(text="Write the whole result there as JSON.", json=True)
@format_option("table", "json")
def import_sol(
    source: str,
    instance: str,
    model: str | None,
    settings: dict[str, str],
    output: str | None,
    form: str,
) -> int:
    """Make a checked, replayed result from FILE, the solution that CBC, HiGHS, Gurobi,
    SCIP or GLPK wrote for a model of `ioopt export lp` or `mps`.

    The plan makes the transfers of the solution. Names, whole numbers and rows are
    checked, and what FILE says of its optimality is not believed: the status is
    "optimal" only if a bound of ioopt proves it.
    """
    from ioopt.exchange import result_of_solution
    from ioopt.formats.solution import read_solution

    problem = load(instance)
    result = result_of_solution(problem, read_solution(source), model, settings)
    print_result(result, output, form)
    return exit_code(result)
