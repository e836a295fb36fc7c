"""Write the kernels in C: ``ioopt/compiled/kernels.c``, from the text of the kernels.

    python scripts/tools/kernels.py          # write the file
    python scripts/tools/kernels.py --check  # exit with 1 if it is not up to date

After writing it, install ioopt again to compile it.
"""

import argparse
import hashlib
import sys
from pathlib import Path

from ctext.source import TextError
from ctext.translate import translate

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "ioopt" / "compiled" / "kernels.c"
SEARCH = "ioopt.solvers.replication.search."
GANG = "ioopt.sim.gang."
LABORATORY = "ioopt.measure.perturbation_kernel:"
ENTRIES = (
    "ioopt.solvers.replication.exact.enumeration_kernel:search",
    SEARCH + "anneal_kernel:run",
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
)
"""Functions that Python calls."""


def written() -> str:
    """Return the whole C file. The first line and a function state its digest."""
    text = translate(ROOT, ENTRIES)
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
