"""``ioopt import``: make instances from traces, logs and workflows of other
programs.
"""

import click

from ioopt.cli.lazy import IooptGroup
from ioopt.registry import entry_points, origin

_LOGS = "ioopt.cli.imports.logs:import_"
_FLOWS = "ioopt.cli.imports.workflows:import_"
COMMANDS = {
    "swf": (_LOGS + "swf", "Batch traces in the Standard Workload Format."),
    "sacct": (_LOGS + "sacct", "Job logs of Slurm, as sacct prints them."),
    "pbs": (_LOGS + "pbs", "Accounting logs of PBS and Torque."),
    "darshan": (_LOGS + "darshan", "Darshan logs and darshan-parser text."),
    "wfformat": (_FLOWS + "wfformat", "Workflows in WfFormat 1.4 to 1.6."),
    "estee": (_FLOWS + "estee", "Task graphs of Estee."),
    "saga": (_FLOWS + "saga", "Task graphs of SAGA and DAGBench."),
    "nextflow-trace": (
        _FLOWS + "nextflow_trace",
        "Traces of Nextflow runs, with their DAG if given.",
    ),
    "work-directory": (
        _FLOWS + "work_directory",
        "WfFormat or Nextflow traces on one machine with a work directory.",
    ),
    "batsim": (_LOGS + "batsim", "Batsim workloads."),
}

_OUTSIDE = {
    entry.name: (entry.value, f"From the package {origin(entry)}.")
    for entry in entry_points("ioopt.importers")
}


@click.group(cls=IooptGroup, lazy=_OUTSIDE | COMMANDS)
def group() -> None:
    """Make an instance from traces, logs or workflows."""
