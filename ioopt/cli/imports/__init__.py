"""``ioopt import``: make instances from traces, logs and workflows of other programs,
and results from solutions of exported models.
"""

import click

from ioopt.cli.lazy import IooptGroup
from ioopt.registry import entry_points, origin

COMMANDS = {
    "swf": (
        "ioopt.cli.imports.logs:import_swf",
        "Batch traces in the Standard Workload Format.",
    ),
    "sacct": (
        "ioopt.cli.imports.logs:import_sacct",
        "Job logs of Slurm, as sacct prints them.",
    ),
    "pbs": ("ioopt.cli.imports.logs:import_pbs", "Accounting logs of PBS and Torque."),
    "darshan": (
        "ioopt.cli.imports.logs:import_darshan",
        "Darshan logs and darshan-parser text.",
    ),
    "wfformat": (
        "ioopt.cli.imports.workflows:import_wfformat",
        "Workflows in WfFormat 1.4 to 1.6.",
    ),
    "estee": ("ioopt.cli.imports.workflows:import_estee", "Task graphs of Estee."),
    "saga": (
        "ioopt.cli.imports.workflows:import_saga",
        "Task graphs of SAGA and DAGBench.",
    ),
    "nextflow-trace": (
        "ioopt.cli.imports.workflows:import_nextflow_trace",
        "Traces of Nextflow runs, with their DAG if given.",
    ),
    "work-directory": (
        "ioopt.cli.imports.workflows:import_work_directory",
        "WfFormat or Nextflow traces on one machine with a work directory.",
    ),
    "batsim": ("ioopt.cli.imports.logs:import_batsim", "Batsim workloads."),
    "sol": (
        "ioopt.cli.imports.solutions:import_sol",
        "Solutions of exported models: CBC, HiGHS, Gurobi, SCIP, GLPK.",
    ),
}

_OUTSIDE = {
    entry.name: (entry.value, f"From the package {origin(entry)}.")
    for entry in entry_points("ioopt.importers")
}


@click.group(cls=IooptGroup, lazy=_OUTSIDE | COMMANDS)
def group() -> None:
    """Make an instance from traces, logs or workflows, or a result from a solution."""
