"""``ioopt import``: instances from traces, logs and workflows of other programs."""

from __future__ import annotations

import click

from ioopt.cli.lazy import IooptGroup

COMMANDS = {
    "swf": ("ioopt.cli.imports.swf:import_swf", "Batch traces in the Standard Workload Format."),
    "darshan": (
        "ioopt.cli.imports.darshan:import_darshan",
        "Darshan logs and darshan-parser text.",
    ),
    "wfformat": ("ioopt.cli.imports.wfformat:import_wfformat", "Workflows in WfFormat 1.4 or 1.5."),
    "estee": ("ioopt.cli.imports.estee:import_estee", "Task graphs of Estee."),
    "nextflow-trace": (
        "ioopt.cli.imports.nextflow:import_nextflow_trace",
        "Traces of Nextflow runs, with their DAG if given.",
    ),
    "batsim": ("ioopt.cli.imports.batsim:import_batsim", "Batsim workloads."),
    "batsim-jobs": ("ioopt.cli.imports.batsim:import_batsim_jobs", "Batsim's _jobs.csv."),
    "io-congestion": (
        "ioopt.cli.imports.io_congestion:import_io_congestion",
        "Sets of periodic applications of the I/O congestion literature.",
    ),
    "messages": ("ioopt.cli.imports.messages:import_messages", "Message counts of gangs, as CSV."),
}


@click.group(cls=IooptGroup, lazy=COMMANDS)
def import_group() -> None:
    """Make an instance from traces, logs or workflows."""
