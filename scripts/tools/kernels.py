"""Write the kernels in C: ``ioopt/compiled/kernels.c``, from the text of the kernels.

    python scripts/tools/kernels.py          # write the file
    python scripts/tools/kernels.py --check  # exit with 1 if it is not up to date

After writing it, install ioopt again to compile it.
"""

import argparse
import ast
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from ctext.source import TextError
from ctext.translate import translate

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "ioopt" / "compiled" / "kernels.c"
EXACT = "ioopt.solvers.replication.exact."
SEARCH = "ioopt.solvers.replication.search."
GANG = "ioopt.sim.gang."
LABORATORY = "ioopt.measure.perturbation_kernel:"
ENTRIES = (
    "ioopt.sim.replication.kernel:begin_or_advance",
    "ioopt.sim.replication.kernel:replay",
    EXACT + "enumeration_kernel:search",
    EXACT + "queue_kernel:search",
    SEARCH + "anneal_kernel:run",
    SEARCH + "line_kernel:anneal",
    SEARCH + "line_kernel:noisy_mean",
    SEARCH + "line_kernel:score",
    SEARCH + "line_kernel:score_line",
    "ioopt.measure.io_kernel:serve",
    GANG + "clock:simulate",
    GANG + "replicas:clean",
    GANG + "phases:migrate",
    GANG + "compaction:compact",
    GANG + "phases:schedule",
    GANG + "replicas:fill",
    LABORATORY + "workpile",
    LABORATORY + "barrier",
    LABORATORY + "msg",
    LABORATORY + "run_program",
    "ioopt.sim.batch_io.engine:advance",
    "ioopt.sim.batch_io.engine:never_asked",
    "ioopt.decisions.batch_io:share_by_nodes",
    "ioopt.models.fluid_bound:response",
)
"""Functions that Python calls, beside those of :func:`grants`."""
POLICIES = "ioopt.solvers.batch_io"


def grants() -> Iterator[str]:
    """Yield the functions by which I/O policies grant rates: in the modules of
    ``POLICIES``, those of a view and rates.
    """
    for path in sorted(ROOT.joinpath(*POLICIES.split(".")).glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                names = [argument.arg for argument in node.args.args]
                if names == ["view", "rates"]:
                    yield f"{POLICIES}.{path.stem}:{node.name}"


def written() -> str:
    """Return the whole C file. The first line and a function state its digest."""
    text = translate(ROOT, (*ENTRIES, *grants()))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (
        f"/* text {digest} */\n{text}\n"
        f'EXPORTED const char *text_digest(void) {{ return "{digest}"; }}\n'
    )


def main() -> int:
    """Write or check the file; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the kernels in C.")
    parser.add_argument("--check", action="store_true", help="only compare")
    asked = parser.parse_args()
    try:
        text = written()
    except TextError as error:
        print(error, file=sys.stderr)
        return 1
    if asked.check:
        same = TARGET.exists() and TARGET.read_text("utf-8") == text
        print(f"{TARGET.relative_to(ROOT)} is {'' if same else 'not '}up to date")
        return int(not same)
    TARGET.write_text(text, "utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {text.count(chr(10))} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
