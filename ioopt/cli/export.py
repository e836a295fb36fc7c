"""``ioopt export``: the printed model as LP or MPS, instances as WfFormat or Batsim."""

from __future__ import annotations

from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptGroup
from ioopt.cli.options import file_argument, output_option, read_result, set_option
from ioopt.errors import ExitCode, UsageError
from ioopt.registry import load_target
from ioopt.solving import load

MODELS = {
    "replication": "ioopt.solvers.model_files:export_model",
    "flexible-gang": "ioopt.solvers.model_files:export_assignment",
    "quantum-selection": "ioopt.solvers.model_files:export_quantum",
}
INSTANCES = {
    "wfformat": ("replication", "ioopt.formats.wfformat.instance:export_wfformat"),
    "batsim": ("batch-io", "ioopt.formats.batsim.workload:export_batsim"),
}


@click.group(cls=IooptGroup)
def export_group() -> None:
    """Write the integer program of an instance, or the instance itself, for other programs."""


def _model(form: str, text: str) -> click.Command:
    @export_group.command(name=form, help=text)
    @file_argument()
    @output_option(required=True)
    @set_option("A switch of the model, such as cycles=acyclic or k=2.")
    def export(file: str, output: str, settings: dict[str, str]) -> int:
        problem = load(file)
        kind = registry.kind_of_problem(problem).kind
        if kind not in MODELS:
            raise UsageError(f"{file} is {kind}; {form} export takes {', '.join(MODELS)}")
        load_target(MODELS[kind])(problem, output, form, settings)
        return ExitCode.ANSWER

    return export


def _instance(form: str, text: str) -> click.Command:
    @export_group.command(name=form, help=text)
    @file_argument()
    @output_option(required=True)
    def export(file: str, output: str) -> int:
        from ioopt.formats.native import dump_json, write_text

        problem = load(file)
        wanted, target = INSTANCES[form]
        kind = registry.kind_of_problem(problem).kind
        if kind != wanted:
            raise UsageError(f"{file} is {kind}; {form} export takes {wanted}")
        document: Any = load_target(target)(problem)
        write_text(output, dump_json(document))
        return ExitCode.ANSWER

    return export


_model("lp", "The printed integer program of FILE in LP format.")
_model("mps", "The printed integer program of FILE in MPS format.")
_instance("wfformat", "A replication instance as a WfFormat workflow.")
_instance("batsim", "A batch-io instance as a Batsim workload.")


@export_group.command(
    name="batsim-jobs", help="The jobs of a batch-io RESULT as Batsim's _jobs.csv."
)
@file_argument()
@click.argument("result", metavar="RESULT")
@output_option(required=True)
def batsim_jobs(file: str, result: str, output: str) -> int:
    """Write the CSV that Batsim would write for the schedule in RESULT."""
    from ioopt.formats.batsim.workload import jobs_csv
    from ioopt.formats.native import reading, write_text

    problem = load(file)
    kind = registry.kind_of_problem(problem)
    if kind.kind != "batch-io":
        raise UsageError(f"{file} is {kind.kind}; batsim-jobs export takes batch-io")
    schedule = read_result(result, kind).get("schedule")
    if not schedule:
        raise UsageError(f"{result} holds no schedule")
    with reading(result):
        text = jobs_csv(problem, schedule)
    write_text(output, text)
    return ExitCode.ANSWER
