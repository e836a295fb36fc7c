"""``ioopt instances``: list bundled instances and the best known plans; list or run
generators; list schemas and solvers.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ioopt import library as known
from ioopt import registry
from ioopt.catalog import bundled, entries
from ioopt.cli import options
from ioopt.cli.lazy import IooptCommand, IooptGroup, quiet, set_option
from ioopt.cli.options import format_option, output_option, seed_option
from ioopt.errors import UsageError
from ioopt.families import EXACT, Format, SolverSpec
from ioopt.formats.native import dump_json, read_bytes, write_bytes, write_text
from ioopt.options import suggest
from ioopt.problems.base import Json, Problem
from ioopt.result import Result, relative_gap
from ioopt.tables import percent, render, say, terminal_width
from ioopt.units import counted, quantity, title


@click.group(cls=IooptGroup, invoke_without_command=True)
@click.pass_context
def instances(context: click.Context) -> None:
    """List bundled instances, whose names any command takes as FILE. Subcommands list
    or generate other instances, and list best plans, schemas and solvers.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_)


@instances.command(name="list", cls=IooptCommand)
@format_option("table", "json")
def list_(form: str = "table") -> None:
    """List all bundled instances: kind, best known objective, whether it is proven
    optimal, and what the instance shows.
    """
    if form == "json":
        click.echo(dump_json(list(entries().values())), nl=False)
        return
    headers = ("name", "kind", "best known", "what it shows")
    rows = [
        (entry["name"], entry["kind"], _best(entry), _short(entry.get("why")))
        for entry in entries().values()
    ]
    click.echo(render(headers, rows, width=terminal_width(), wrap=1), nl=False)


def _best(entry: Mapping[str, Any]) -> str | None:
    """Return the best known objective with its unit, and "proven" if it is optimal;
    None if none is known.
    """
    value, bound = entry.get("best_objective"), entry.get("bound")
    if value is None:
        return None
    return quantity(entry["objective"], value) + (", proven" if value == bound else "")


def _short(text: str | None) -> str | None:
    """Return *text* cut to one or two lines; `ioopt instances show NAME` prints all of
    it.
    """
    if text is None or len(text) <= 72:
        return text
    return f"{text[:69]}..."


@instances.command(cls=IooptCommand)
@click.argument("name", shell_complete=options.instances)
def show(name: str) -> None:
    """Show the catalog entry of the bundled instance NAME."""
    click.echo(dump_json(bundled(name)), nl=False)


@instances.command(cls=IooptCommand)
@click.argument("name", shell_complete=options.instances)
@output_option(
    text="Where to write the copy (default: its own file name in this folder)."
)
def copy(name: str, output: str | None) -> None:
    """Copy the file of the bundled instance NAME; an existing file is not
    overwritten.
    """
    source = bundled(name)["path"]
    target = output or os.path.basename(source)
    if os.path.exists(target):
        raise UsageError(f"{target}: exists already; choose another name with -o")
    if target.endswith(".gz"):
        data = read_bytes(source)  # decompressed; it is compressed again on writing
    else:
        data = Path(source).read_bytes()
    write_bytes(target, data)
    click.echo(target)


@instances.command(cls=IooptCommand)
@click.argument("name", required=False)
@options.library_option
@format_option("table", "json")
@output_option(text="Write the instance NAME there.")
def best(name: str | None, library: str | None, form: str, output: str | None) -> None:
    """Print the best known plans of NAME, an instance of the library or its file;
    without NAME, a table of all instances of the library.

    The table has the value, the proven bound and the solver that found the value. With
    NAME, it also has all earlier best values. JSON has the plan too.
    """
    if name is None:
        if output is not None:
            raise UsageError("-o writes one instance; give its NAME")
        shown = [*known.entries(library).values()]
        data: object = [
            entry.model_dump(mode="json", exclude={"plan"}) for entry in shown
        ]
    else:
        shown = [known.entry_of(name, library)]
        data = shown[0].model_dump(mode="json")
        if output is not None:
            problem = shown[0].problem(library)
            write_text(
                output, dump_json(problem.model_dump(mode="json", by_alias=True))
            )
    if form == "json":
        click.echo(dump_json(data), nl=False)
        return
    headers = ("name", "best", "bound", "gap", "measure", "found by", "version", "kind")
    rows = [
        (
            entry.name,
            quantity(entry.measure, found.best),
            quantity(entry.measure, found.bound),
            percent(relative_gap(found.best, found.bound, entry.sense)),
            title(entry.measure),
            found.solver,
            found.version,
            entry.kind,
        )
        for entry in shown
        for found in (entry.history if name is not None else (entry.best,))
    ]
    click.echo(render(headers, rows, width=terminal_width(), keep=4), nl=False)


@instances.command(cls=IooptCommand)
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """Print the JSON Schema called NAME; without NAME, list the names.

    NAME is a kind of instance, KIND-plan, KIND-schedule, result, or validation.
    """
    classes = schema_classes()
    if name is None:
        click.echo("\n".join(classes))
        return
    short = name.removeprefix("ioopt/")
    if short not in classes:
        raise UsageError(f"no schema {name!r}; {suggest(short, classes)}")
    click.echo(dump_json(json_schema(classes[short]())), nl=False)


def schema_classes() -> dict[str, Callable[[], type[Any]]]:
    """Return the names of all schemas, each with a function that returns its class: all
    kinds of instances, their plans and schedules, results, and validations.
    """
    classes: dict[str, Callable[[], Any]] = {
        spec.kind: spec.problem_class for spec in registry.FORMATS.values()
    }
    for spec in registry.KINDS.values():
        if spec.plan_class() is not None:
            classes[f"{spec.kind}-plan"] = spec.plan_class
    for spec in registry.KINDS.values():
        if spec.schedule_class() is not None:
            classes[f"{spec.kind}-schedule"] = spec.schedule_class
    return classes | {"result": lambda: Result, "validation": _validation}


def _validation() -> type[Any]:
    """Return the class of the answers of ``ioopt validate``."""
    from ioopt.validation.answer import Validation

    return Validation


def json_schema(cls: type[Any]) -> Json:
    """Return the JSON Schema (2020-12) of a pydantic class; a field ``format`` becomes
    required.
    """
    document: Json = cls.model_json_schema(by_alias=True)
    if "format" in document.get("properties", {}):
        document["required"] = ["format", *document.get("required", [])]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}


GENERATE = """\b
Examples:
  ioopt instances generate replication --list
  ioopt instances generate replication --preset image-85 --seed 3 -o image.json
  ioopt instances generate replication --preset ppa --set tasks=2000 -o ppa.json.gz
  ioopt instances generate replication --preset chains --count 20 -o many
"""


@instances.command(cls=IooptCommand, epilog=GENERATE)
@click.argument("family", required=False, shell_complete=options.families)
@click.option(
    "--preset",
    metavar="NAME",
    help="A named workload; see --list.",
    shell_complete=options.presets,
)
@set_option("A setting of the preset; may be given again.")
@seed_option
@click.option(
    "--count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write N instances, of this seed and the next ones, to the folder -o.",
)
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the presets of FAMILY and what their settings mean; without FAMILY, "
    "the presets of all.",
)
@output_option(
    text="Where to write the instance (- for standard output; .gz is compressed); with "
    "--count a folder.",
    checked=False,
)
def generate(
    family: str | None,
    preset: str | None,
    settings: dict[str, str],
    seed: int,
    count: int | None,
    listing: bool,
    output: str | None,
) -> None:
    """Generate one instance of FAMILY (a family or a kind of instance); the same seed
    gives the same file.
    """
    if family is None and listing:
        click.echo(_all_presets(), nl=False)
        return
    if family is None:
        raise UsageError("missing FAMILY; `ioopt instances generate --list` has all")
    kind = registry.generator_of(family)
    if listing:
        click.echo(_presets(kind), nl=False)
        return
    if output is None:
        raise UsageError("missing -o FILE (-o - writes to standard output)")
    if count is None:
        problem = registry.generate(kind, preset, settings, seed)
        write_text(output, _instance_text(problem))
        return
    folder = Path(output)
    made = [registry.generate(kind, preset, settings, seed + k) for k in range(count)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{output}: no folder to write to: {error.strerror}") from None
    changed = "".join(f"-{key}={value}" for key, value in settings.items())
    replaced = 0
    for problem in made:
        # Instances of other settings are other instances, also in a later comparison.
        name = f"{problem.name}{changed}".replace("/", "_")
        file = folder / f"{name}.json"
        text = _instance_text(problem.model_copy(update={"name": name}))
        replaced += file.exists() and file.read_text("utf-8") != text
        write_text(file, text)
    if not quiet():
        others = f"; {replaced} of the files had other contents" if replaced else ""
        say(f"{counted(count, 'instance')} in {output}{others}")


def _instance_text(problem: Problem) -> str:
    """Return the file of an instance as text."""
    return dump_json(problem.model_dump(mode="json", by_alias=True))


def _all_presets() -> str:
    """Return the names of the presets of all kinds as a table."""
    kinds = [kind for kind in registry.FORMATS.values() if kind.presets]
    rows = [(kind.kind, ", ".join(kind.presets)) for kind in kinds]
    return render(("FAMILY", "presets"), rows, width=terminal_width(), wrap=1)


def _presets(kind: Format) -> str:
    """Return two tables: the presets of a kind with their settings and defaults, and
    what each setting means.
    """
    # The generators need numpy, which other listings do not.
    from ioopt.generate import about_preset

    rows = []
    meanings: dict[tuple[str, str], list[str]] = {}
    for name, cls in kind.presets.items():
        rows.append((name, about_preset(cls, kind.presets).rstrip()))
        for key, field in cls.model_fields.items():
            text = " ".join((field.description or "").replace("``", "").split())
            meanings.setdefault((key, text), []).append(name)
    settings = []
    for (key, text), presets in meanings.items():
        # A setting may mean something else in another preset.
        shared = sum(other == key for other, _ in meanings) > 1
        settings.append((key, f"{text} ({', '.join(presets)})" if shared else text))
    width = terminal_width()
    tables = [
        render(("preset", "settings and defaults"), rows, width=width, wrap=1),
        render(("setting", "meaning"), settings, width=width, wrap=1),
    ]
    return "\n".join(tables if settings else tables[:1])


SOLVERS = """\b
Examples:
  ioopt instances solvers
  ioopt instances solvers replication --all
  ioopt instances solvers --format json
"""


@instances.command(cls=IooptCommand, epilog=SOLVERS)
@click.argument(
    "name", metavar="[FAMILY]", required=False, shell_complete=options.families
)
@click.option(
    "--family", metavar="F", help="The same as FAMILY: a family or a kind of instance."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List variants too (such as cons-fcfs+top).",
)
@format_option("table", "json")
def solvers(name: str | None, family: str | None, everything: bool, form: str) -> None:
    """List the solvers of each family. An exact solver proves its answer optimal if it
    has enough time.

    JSON also gives settings, abilities and backends.
    """
    wanted = name or family
    chosen = [
        spec
        for spec in registry.SOLVERS
        if wanted is None
        or any(wanted in (kind, registry.KINDS[kind].family) for kind in spec.kinds)
    ]
    if not chosen:
        known = [*registry.families(), *registry.KINDS]
        raise UsageError(f"no family {wanted!r}; {suggest(str(wanted), known)}")
    if form == "json":
        click.echo(dump_json([describe(spec) for spec in chosen]), nl=False)
        return
    click.echo(_tables(chosen, everything), nl=False)


def _tables(chosen: Sequence[SolverSpec], everything: bool) -> str:
    """Return the tables of solvers, one for each set of kinds that solvers take, and a
    line with the number of variants not listed.
    """
    groups: dict[tuple[str, ...], list[SolverSpec]] = {}
    for spec in chosen:
        groups.setdefault(spec.kinds, []).append(spec)
    parts = []
    for kinds, specs in groups.items():
        shown = [spec for spec in specs if everything or spec.variant_of is None]
        rows = [
            (
                spec.name,
                "yes" if EXACT in spec.abilities else None,
                spec.summary,
                spec.source,
            )
            for spec in shown
        ]
        headers = ("solver", "exact", "what it does", "source")
        parts.append(
            _heading(kinds) + render(headers, rows, width=terminal_width(), wrap=2)
        )
    hidden = sum(spec.variant_of is not None for spec in chosen)
    if hidden and not everything:
        parts.append(f"{hidden} more variants: --all\n")
    return "\n".join(parts)


def _heading(kinds: Sequence[str]) -> str:
    family = registry.KINDS[kinds[0]].family
    takes = "" if kinds == (family,) else f", for {' and '.join(kinds)} instances"
    defaults = dict.fromkeys(registry.KINDS[kind].default_solver for kind in kinds)
    return f"{family}{takes} (default: {', '.join(defaults)})\n"


def describe(spec: SolverSpec) -> Json:
    """Return a solver as plain data: its abilities, its backends, and for each of its
    settings the type and the default.
    """
    settings = {}
    settings_class = spec.settings_class()
    if settings_class is not None:
        properties = settings_class.model_json_schema().get("properties", {})
        for key, value in properties.items():
            settings[key] = {part: value[part] for part in value if part != "title"}
    return {
        "name": spec.name,
        "kinds": spec.kinds,
        "summary": spec.summary,
        "source": spec.source,
        "abilities": sorted(spec.abilities),
        "backends": spec.backends,
        "fixed": dict(spec.fixed),
        "variant_of": spec.variant_of,
        "settings": settings,
    }
