"""Define the common parts of the import commands: the argument SOURCE, the options -o
and --machine, and the output.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import click
from pydantic import BaseModel

from ioopt.cli.lazy import WritingCommand, quiet
from ioopt.cli.options import PATH, output_option
from ioopt.errors import UsageError
from ioopt.formats.cluster import Machine
from ioopt.formats.io_rule import MachineRule
from ioopt.formats.native import dump_json, read_json, read_toml, reading, write_text
from ioopt.options import parse_assignments, parse_settings, suggest
from ioopt.problems.base import Json, Problem
from ioopt.problems.batch_io import QueueOptions
from ioopt.tables import named_once

Reader = Callable[..., Problem]
"""A function that makes an instance from the values of a command's arguments and
options.
"""
Described = Callable[[tuple[str, ...]], Mapping[str, Any]]
"""A function that converts the values of the option ``--machine`` to keywords of the
reader.
"""


def import_command(
    name: str, epilog: str, *, machine: Described | None = None, several: bool = False
) -> Callable[[Reader], click.Command]:
    """Return a decorator that makes a click command from a reader. The reader takes the
    keyword ``source`` or, if *several* is true, ``sources``.

    The command's option -o says where to write the instance. The warnings in the
    instance's ``meta`` are also printed to standard error. A source may contain values
    that no instance may have; the error raised for them becomes an InstanceError.
    """

    def decorate(reader: Reader) -> click.Command:
        def run(output: str, **given: Any) -> None:
            if machine is not None:
                given |= machine(given["machine"])
            named = ", ".join(given["sources"]) if several else given["source"]
            with reading(named):
                problem = reader(**given)
            if not quiet():
                for text in named_once(problem.warnings, named):
                    click.echo(f"ioopt: warning: {text}", err=True)
            write_text(
                output, dump_json(problem.model_dump(mode="json", by_alias=True))
            )

        # click lists the options that were added last first, so the reader's own
        # options come between these two.
        target = output_option(
            required=True, text="Where to write the instance.", json=True
        )
        command = target(run)
        if machine is not None:
            command = machine_option(command)
        own = getattr(reader, "__click_params__", [])
        command = wraps(reader, updated=())(command)
        command.__click_params__ += own  # type: ignore[attr-defined]
        if several:
            source = click.argument(
                "sources", metavar="SOURCE...", nargs=-1, required=True, type=PATH
            )
        else:
            source = click.argument("source", metavar="SOURCE", type=PATH)
        return click.command(name=name, cls=WritingCommand, epilog=epilog)(
            source(command)
        )

    return decorate


machine_option = click.option(
    "--machine",
    "machine",
    multiple=True,
    metavar="FILE|KEY=VALUE[,...]",
    help="The machine, if the source does not describe it: a TOML or JSON file, or "
    "keys of such a file; may be given again, and the last value of a key counts. "
    "The page on formats lists the keys in section Machines.",
)


def _told(words: tuple[str, ...], *classes: type[BaseModel]) -> list[Json]:
    """Return, for each of *classes*, those of its keys that *words*, the values of the
    option ``--machine``, state.

    A file may state keys of any machine. Text on the command line may state only keys
    of *classes*.
    """
    found: Json = {}
    for word in words:
        if "=" in word:
            given: object = parse_assignments(word.split(","), "--machine")
            known = _keys(*classes)
        else:
            given = _read_machine(word)
            known = _keys(MachineRule, QueueOptions, Machine)
        if not isinstance(given, dict):
            raise UsageError(
                f"--machine {word}: wanted an object, such as {{nodes: 4}}"
            )
        for key, value in given.items():
            why = QueueOptions.LEFT.get(key)
            # Burst buffers had a key staging too; its values were words.
            number = key in known and str(value).isdigit()
            if why and not number:
                raise UsageError(f"--machine {word}: {key}: {why}")
            if key not in known:
                raise UsageError(
                    f"--machine {word}: no key {key!r}; {suggest(key, known)}"
                )
        found |= given
    stated: list[Json] = []
    for cls in classes:
        own = _keys(cls)
        stated.append({key: value for key, value in found.items() if key in own})
    return stated


def _read_machine(path: str) -> object:
    """Return the contents of a TOML or JSON file."""
    if path.endswith(".toml"):
        return read_toml(path)
    return read_json(path)


def _keys(*classes: type[BaseModel]) -> list[str]:
    """Return the keys that *classes* accept."""
    found: list[str] = []
    for cls in classes:
        for name, field in cls.model_fields.items():
            found.append(field.alias or name)
    return found


def _owner(words: tuple[str, ...]) -> str:
    """Return ``--machine`` and the names of the files given to it, for messages."""
    files = [word[-60:] for word in words if "=" not in word]
    return " ".join(["--machine", *files])


def batch_machine(words: tuple[str, ...]) -> Json:
    """Return the keywords ``machine``, a rule that describes a batch machine, and
    ``options``, the settings of the batch queue.
    """
    rule, queue = _told(words, MachineRule, QueueOptions)
    stated = parse_settings(QueueOptions, queue, _owner(words)).model_dump(
        exclude_unset=True, by_alias=True
    )
    options = {"kill": False, "queue": "wfp", "backfill": "easy"} | stated
    return {
        "machine": parse_settings(MachineRule, rule, _owner(words)),
        "options": options,
    }


def cluster(words: tuple[str, ...]) -> Json:
    """Return the keyword ``machine``, the cluster on which a workflow runs."""
    (given,) = _told(words, Machine)
    return {"machine": parse_settings(Machine, given, _owner(words))}
