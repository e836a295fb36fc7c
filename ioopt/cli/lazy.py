"""Define the classes of ioopt's click groups and commands. Commands are imported on
first use, and every command takes -q, -v and --traceback.

Options that need only click are defined here too.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any, TypeVar

import click

from ioopt.errors import UsageError
from ioopt.options import LEFT, RENAMED, parse_assignments, suggest
from ioopt.units import parse_seconds

F = TypeVar("F", bound=Callable[..., Any])
PROOF_NOTE = "proven optimal"
"""Text that occurs in every note of a result that says how an optimum was proven."""


class BareOption(click.Option):
    """An option that may be given without a value; its value is then that of the
    keyword *bare*.
    """

    def __init__(self, *args: Any, bare: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.bare = bare


def with_values(params: Sequence[click.Parameter], words: list[str]) -> list[str]:
    """Return *words* with a value inserted after each bare option, unless the next word
    is its value: a number that is not also the name of a file.
    """
    bare: dict[str, str] = {}
    for option in params:
        if isinstance(option, BareOption):
            bare |= dict.fromkeys(option.opts, option.bare)
    found = list(words)
    for place, word in enumerate(words):
        if word == "--":
            break
        if word in bare:
            after = words[place + 1] if place + 1 < len(words) else ""
            if not _is_number(after) or os.path.exists(after):
                found[place] = f"{word}={bare[word]}"
    return found


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


class IooptCommand(click.Command):
    """A command that takes -q, -v and --traceback wherever the user puts them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [
            click.Option(
                names, expose_value=False, callback=_remember, help=text, **how
            )
            for names, text, how in EVERYWHERE
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args* as click does; for an option that was renamed, raise UsageError
        with the new name.
        """
        try:
            return super().parse_args(ctx, with_values(self.params, args))
        except click.NoSuchOption as error:
            now = RENAMED["option"].get(error.option_name, "")
            if any(now.partition(" ")[0] in item.opts for item in self.params):
                raise UsageError(f"{error.option_name} is now {now}") from None
            raise


class WritingCommand(IooptCommand):
    """A command that names the file that it wrote, after all else that it prints."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, then name the file of ``-o`` on standard error."""
        answer = super().invoke(ctx)
        output = ctx.params.get("output")
        if isinstance(output, str) and os.path.isfile(output) and not quiet():
            click.echo(f"wrote {output}", err=True)
        return answer


EVERYWHERE: tuple[tuple[list[str], str, dict[str, bool]], ...] = (
    (
        ["-q", "--quiet"],
        "No progress and no notes on standard error.",
        {"is_flag": True},
    ),
    (
        ["-v", "--verbose"],
        "More notes on standard error; twice for more.",
        {"count": True, "show_default": False},
    ),
    (["--traceback"], "Show the full traceback of an error.", {"is_flag": True}),
)


def _remember(
    context: click.Context, parameter: click.Parameter, value: object
) -> object:
    """Store the value where :func:`quiet` and :func:`verbosity` find it, whether the
    option was given to a group or to a command.
    """
    if value:
        context.find_root().meta[f"ioopt.{parameter.name}"] = value
    return value


def quiet() -> bool:
    """Return whether the user asked for silence on standard error."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().meta.get("ioopt.quiet"))


def verbosity() -> int:
    """Return how often -v was given."""
    context = click.get_current_context(silent=True)
    if context is None:
        return 0
    return int(context.find_root().meta.get("ioopt.verbose", 0))


def is_printed(note: str) -> bool:
    """Return whether a note of a result is printed.

    A note on how an optimum was proven is printed only with -v, because the status
    already says "optimal".
    """
    return verbosity() > 0 or PROOF_NOTE not in note


def processor_started() -> float:
    """Return the processor time that the main thread had used when the command began;
    outside a command, the time used until now.
    """
    context = click.get_current_context(silent=True)
    if context is not None:
        started = context.find_root().meta.get("ioopt.processor_started")
        if started is not None:
            return float(started)
    return time.thread_time()


class IooptGroup(click.Group):
    """A group that imports its commands on first use.

    The keyword *lazy* of the constructor is a dictionary name -> (``module:command``,
    one-line help). ``--help`` lists the commands of this dictionary and imports none of
    them.
    """

    command_class = IooptCommand

    def __init__(
        self,
        *args: Any,
        lazy: Mapping[str, tuple[str, str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = dict(lazy or {})
        self.params.extend(IooptCommand(None).params)

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Make click's context, and store in it the processor time used until now."""
        started = time.thread_time()
        context = super().make_context(*args, **more)
        context.find_root().meta.setdefault("ioopt.processor_started", started)
        return context

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the lazy commands in their order, then those of the other
        commands.
        """
        others = [name for name in self.commands if name not in self._lazy]
        return [*self._lazy, *others]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command called *cmd_name*."""
        if cmd_name in self._lazy:
            target = self._lazy[cmd_name][0]
            try:
                command: click.Command = resolve_name(target)
            except Exception as error:
                if target.startswith("ioopt."):
                    raise
                wrong = (
                    f"the plugin {cmd_name!r} ({target}) is broken: "
                    f"{type(error).__name__}"
                )
                raise click.UsageError(f"{wrong}: {error}", ctx) from error
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command as click does, or by the name that it had in the last version.

        An unknown name raises a UsageError that suggests the nearest known name.
        """
        name = click.utils.make_str(args[0])
        known = self.list_commands(ctx)
        if ctx.parent is None and (now := RENAMED["command"].get(name)):
            if not (quiet() or ctx.resilient_parsing):
                click.echo(f"ioopt: {name} is now {now}", err=True)
            name, *more = now.split()
            args = [name, *more, *args[1:]]
        if name not in known and name in LEFT["command"]:
            raise UsageError(LEFT["command"][name])
        if name not in known and not name.startswith("-"):
            raise click.UsageError(f"no command {name!r}; {suggest(name, known)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands for ``--help``, each with its one-line help."""
        rows = [(name, text) for name, (_, text) in self._lazy.items()]
        rows += [
            (name, command.get_short_help_str(limit=80))
            for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that adds several options, in the order in which ``--help``
    lists them.
    """

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def set_option(text: str, **more: Any) -> Callable[[F], F]:
    """Return the option ``--set KEY=VALUE``, which may be given several times. The
    command receives all pairs as the dictionary ``settings``.
    """
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help=text,
        **more,
        callback=lambda context, option, words: parse_assignments(words),
    )


class Number(click.FloatRange):
    """A number in a range, which NaN is not: click compares it with both ends."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number that *value* gives."""
        number: float = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is no number.", param, ctx)
        return number


class Seconds(click.ParamType):
    """Type of an option that is a time: a number of seconds, or text with a unit such
    as 90s or 1.5min.
    """

    name = "seconds"

    def convert(
        self,
        value: str | float,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the time in seconds; a negative number is refused later, by the
        command.
        """
        try:
            return value if isinstance(value, float) else float(value)
        except ValueError:
            pass
        try:
            return parse_seconds(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)
