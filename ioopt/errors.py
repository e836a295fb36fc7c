"""Define the errors that a user can cause or must act on, each with its exit code.

Infeasibility and running out of time are results (:class:`ioopt.result.Status`), not
exceptions. Each message is one line that names the file, the item, the value and what
to do.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    ANSWER = 0
    INTERNAL = 1
    USAGE = 2
    INFEASIBLE = 3
    NO_ANSWER = 4
    VIOLATIONS = 5
    BACKEND_MISSING = 6
    INTERRUPTED = 130


class IooptError(Exception):
    """Base of all errors that ioopt raises on purpose; its message is for the user."""

    exit_code: ExitCode = ExitCode.INTERNAL


class UsageError(IooptError):
    """A command, option, setting or name that does not exist, or that cannot be used
    here.
    """

    exit_code = ExitCode.USAGE


class NotApplicableError(UsageError):
    """A solver that cannot take this instance, though others can.

    The error does not mean that the instance has no plan; that would be a result with
    the status ``infeasible``.
    """


class InstanceError(IooptError):
    """An input file or problem that is malformed or contradicts itself."""

    exit_code = ExitCode.USAGE


class StateError(UsageError, InstanceError):
    """A call to an embedded object that does not fit what the object knows, such as a
    message that came twice, late or out of order.
    """


class MissingFileError(InstanceError):
    """An input file that does not exist."""


class UnsolvableInstanceError(InstanceError):
    """A well-formed instance without any plan: a task is larger than every disk."""


class BackendMissingError(IooptError):
    """A solver backend, optional package or external program that is not installed."""

    exit_code = ExitCode.BACKEND_MISSING


class BackendFailureError(IooptError):
    """A backend that crashed, or returned values or a status that make no sense."""


class OwnSolverError(IooptError):
    """A user's solver that raised an error which ioopt would blame on the command or
    the instance.
    """


class SimulationError(IooptError):
    """A plan that cannot be carried out, such as a queue that can never proceed."""

    exit_code = ExitCode.VIOLATIONS


class OutOfTime(SimulationError):
    """The deadline passed before every job of a simulation had ended."""

    exit_code = ExitCode.NO_ANSWER


MOST_NUMBERS = 50_000_000
"""The largest number of values that one run may store in all its tables: 400 MB."""


def require_numbers(count: float, what: str, remedy: str) -> None:
    """Raise InstanceError when *count*, the number of values that *what* needs in
    memory, exceeds ``MOST_NUMBERS``; *remedy* tells the user what to do.
    """
    if not count <= MOST_NUMBERS:
        raise InstanceError(
            f"{what} would need {count:.3g} numbers in memory, at most "
            f"{MOST_NUMBERS:.3g}; {remedy}"
        )


EXTRAS = {
    "matplotlib": "plot",
    "distributed": "campaign",
    "psutil": "campaign",
    "zmq": "batsim",
    "fastapi": "serve",
    "uvicorn": "serve",
    "httpx": "serve",
    "snakemake": "embed",
    "darshan": "darshan",
}
"""Packages that some commands need -> the extra of ioopt that installs them."""


def missing(package: str, what: str = "this") -> BackendMissingError:
    """Return an error that says that *what* needs *package*, given by its importable
    name, and how to install the package.
    """
    extra = EXTRAS[package]
    return BackendMissingError(
        f"{what} needs the package {package}; pip install 'ioopt[{extra}]'"
    )
