"""``ioopt doctor``: list which parts are installed and which are missing."""

import platform
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import format_option, usable_cores
from ioopt.compiled import library
from ioopt.errors import EXTRAS
from ioopt.formats.native import dump_json
from ioopt.tables import render, terminal_width
from ioopt.version import __version__

EPILOG = """\b
Examples:
  ioopt doctor
  ioopt doctor --format json
"""
PARTS = {
    "matplotlib": "ioopt plot, reports, compare --plot",
    "distributed": "sweeps over several machines, the Dask adapter",
    "zmq": "ioopt serve --batsim",
    "fastapi": "ioopt serve --http",
    "uvicorn": "ioopt serve --http",
    "httpx": "ioopt serve --http: clients and tests",
    "snakemake": "the scheduler plugin for Snakemake",
    "darshan": "Darshan logs in binary form",
}
"""Importable packages that some commands need -> what they are needed for."""
Row = tuple[str, str, str, str]


@click.command(cls=IooptCommand, epilog=EPILOG)
@format_option("table", "json")
def doctor(form: str) -> None:
    """List backends, versions, optional parts and plugins, and whether simulators and
    searches are compiled.

    They are compiled when ioopt is installed, if a C compiler is there. Without one
    they are plain Python: the answers are the same, and take longer.
    """
    rows = [*_here(), *_backends(), *_parts(), *_kernels(), *_plugins()]
    headers = ("what", "name", "state", "note")
    if form == "json":
        click.echo(dump_json([dict(zip(headers, row)) for row in rows]), nl=False)
    else:
        click.echo(render(headers, rows, width=terminal_width(), wrap=3), nl=False)


def _here() -> Iterator[Row]:
    yield ("program", "ioopt", __version__, "")
    yield (
        "program",
        "Python",
        platform.python_version(),
        f"{platform.system()}, {usable_cores()} cores",
    )


def _version(package: str) -> str:
    """Return the version of the distribution that contains the importable *package*;
    ``missing`` if it is not installed.
    """
    if find_spec(package) is None:
        return "missing"
    try:
        return metadata.version({"zmq": "pyzmq"}.get(package, package))
    except metadata.PackageNotFoundError:
        return "present"


def _backends() -> Iterator[Row]:
    from ioopt.solvers.backends import solve

    here = solve.available()
    packages = {
        "CP-SAT": "ortools",
        "HiGHS": "ortools",
        "CBC": "pulp",
        "SCIP": "ortools",
    }
    for name in ("CP-SAT", *solve.BACKENDS):
        package = packages.get(name)
        ready = name in here or name == "CP-SAT"
        if not ready:
            state = "missing"
        elif package is None:
            state = "present"
        else:
            state = _version(package)
        kind = "a program" if package is None else f"of the package {package}"
        yield "backend", name, state, kind


def _parts() -> Iterator[Row]:
    for package, use in PARTS.items():
        state = _version(package)
        extra = (
            f"; pip install 'ioopt[{EXTRAS[package]}]'" if state == "missing" else ""
        )
        yield ("package", package, state, use + extra)


def _kernels() -> Iterator[Row]:
    why = library.why_plain()
    yield "kernels", "of this installation", "plain Python" if why else "compiled", why


def _plugins() -> Iterator[Row]:
    for group in ("ioopt.kinds", "ioopt.solvers", "ioopt.importers"):
        for entry in registry.entry_points(group):
            name = f"{entry.name} of {registry.origin(entry)}"
            wrong = registry.BROKEN.get(f"{name} ({group})")
            yield ("plugin", name, "broken" if wrong else "present", wrong or group)
