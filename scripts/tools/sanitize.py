"""Run the compiled kernels under the sanitizers of gcc for addresses and for undefined
behaviour, on the instances of the oracles.

    python scripts/tools/sanitize.py            # the tests in TESTS
    python scripts/tools/sanitize.py TEST ...   # these, with options of pytest

The kernels are built into a temporary folder, with checks of every index of a list and
of every number in a narrow field. Any finding ends the process and the tool with it:
the exit code is then not 0. Where gcc has no sanitizers the tool says so and does
nothing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "ioopt" / "compiled" / "kernels.c"
KERNELS = "SANITIZED_KERNELS"
"""Environment variable that names the library for the tests."""
FLAGS = (
    *("-g", "-O1", "-w", "-shared", "-fPIC", "-fvisibility=hidden"),
    *("-fwrapv", "-ffp-contract=off", "-DCHECKED"),
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
)
"""Options of gcc. With -fwrapv, whole numbers overflow as those of the installed
kernels do.
"""
TESTS = (
    "tests/oracle/test_gang_oracle.py",
    "tests/unit/gang/test_phases.py",
    "tests/unit/gang/test_cases.py",
    "tests/oracle/test_flexgang_engines.py",
    "tests/unit/flexgang/test_perturbation.py",
    "tests/oracle/test_batch_io_engines.py",
    "tests/oracle/test_batch_io_reference.py",
    "tests/unit/batch_io/test_queue.py",
    "tests/oracle/test_workflow_timeline.py",
    "tests/unit/replication/test_workflow_cases.py",
    "tests/unit/replication/test_workflow_options.py",
    "tests/unit/replication/test_workflow_search.py",
    "tests/unit/replication/test_exact_workflow.py",
    "tests/unit/replication/test_enumeration.py",
    "tests/unit/replication/test_ip.py",
)
"""Tests that hold the kernels of each family against an oracle or an independent
implementation.
"""


def pytest_configure() -> None:
    """Let the tests load the library that the environment names.

    pytest calls this, with this module as a plugin, before it collects the tests.
    """
    from ioopt.compiled import library

    library.LIBRARY = Path(os.environ[KERNELS])
    if library.loaded() is None:
        raise RuntimeError(f"kernels are plain Python: {library.why_plain()}")


def sanitizer() -> Path | None:
    """Return gcc's library of the address sanitizer; None if there is none."""
    if shutil.which("gcc") is None:
        return None
    asked = ["gcc", "-print-file-name=libasan.so"]
    answer = subprocess.run(asked, check=True, capture_output=True, text=True)
    path = Path(answer.stdout.strip())
    # gcc answers with the bare name if it does not know the file.
    return path if path.is_absolute() and path.exists() else None


def build(source: Path, folder: Path) -> Path:
    """Compile *source* with sanitizers into *folder*; return the library."""
    made = folder / "kernels.so"
    command = ["gcc", *FLAGS, "-o", str(made), str(source), "-lm"]
    subprocess.run(command, check=True)
    return made


def run(library: Path, preloaded: Path, words: list[str]) -> int:
    """Run pytest with *words* on the kernels of *library*; return its exit code."""
    tools = str(Path(__file__).parent)
    env = os.environ | {
        KERNELS: str(library),
        # The sanitizer finds the functions for exceptions of C++, which solvers throw,
        # only in a library that is loaded at the start.
        "LD_PRELOAD": f"{preloaded} libstdc++.so.6",
        # Python and its packages keep memory to the end, which is no leak of kernels.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # Each object of Python gets memory of its own, so that its ends are known.
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([tools, os.environ.get("PYTHONPATH", "")]),
    }
    env.pop("IOOPT_PLAIN", None)
    options = ["-q", "-p", "sanitize", "-p", "no:cacheprovider", "-s"]
    options += ["-k", "not python"]  # tests of the plain text
    command = [sys.executable, "-m", "pytest", *options, *words]
    return subprocess.run(command, cwd=ROOT, env=env).returncode


def main() -> int:
    """Build the kernels and run the tests; return the exit code."""
    parser = argparse.ArgumentParser(description="Run kernels under sanitizers.")
    parser.add_argument("--source", type=Path, default=SOURCE, help="the C text")
    asked, words = parser.parse_known_args()
    preloaded = sanitizer()
    if preloaded is None:
        print("gcc with its sanitizers is not here: kernels were not tried under them")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        library = build(asked.source, Path(folder))
        code = run(library, preloaded, words or list(TESTS))
    if code:
        print("the kernels failed under sanitizers", file=sys.stderr)
    return code and 1


if __name__ == "__main__":
    sys.exit(main())
