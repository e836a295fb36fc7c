"""``ioopt instances generate``: seeded instances of a family."""

import click

from ioopt.cli import options
from ioopt.cli.lazy import IooptCommand, set_option
from ioopt.cli.options import output_option
from ioopt.errors import ExitCode, UsageError
from ioopt.registry import Format, generator_of
from ioopt.registry import generate as make

EPILOG = """\b
Examples:
  ioopt instances generate replication --list
  ioopt instances generate replication --preset image-85 --seed 3 -o image.json
  ioopt instances generate replication --preset ppa --set tasks=2000 --set nodes=32 -o ppa.json.gz
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("family", shell_complete=options.families)
@click.option("--preset", metavar="NAME", help="A named workload; see --list.",
              shell_complete=options.presets)  # fmt: skip
@set_option("A setting of the preset; may be given again.")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N")
@click.option("--list", "listing", is_flag=True, help="List presets and their settings.")
@output_option(text="Where to write the instance (- for standard output; .gz is compressed).")
def generate(
    family: str,
    preset: str | None,
    settings: dict[str, str],
    seed: int,
    listing: bool,
    output: str | None,
) -> int:
    """Make one instance of FAMILY (or of one of its kinds); the same seed gives the same file."""
    from ioopt.formats.native import dump_json, write_text

    kind = generator_of(family)
    if listing:
        click.echo(_presets(kind), nl=False)
        return ExitCode.ANSWER
    if output is None:
        raise UsageError("missing -o FILE (-o - writes to standard output)")
    problem = make(kind, preset, settings, seed)
    write_text(output, dump_json(problem.model_dump(mode="json", by_alias=True)))
    return ExitCode.ANSWER


def _presets(kind: Format) -> str:
    from ioopt.tables import render, terminal_width

    rows = [
        (name, ", ".join(f"{key}={field.default}" for key, field in cls.model_fields.items()))
        for name, cls in kind.presets.items()
    ]
    return render(("preset", "settings and defaults"), rows, width=terminal_width(), wrap=1)
