"""Install ioopt in new environments, from the wheel and from the sdist, and try each
installation (``smoke.py``).

The base installation is tried with every Python version that is available on this
machine. With the oldest version, the lowest versions of packages that pyproject.toml
allows are tried as well, and an installation without a C compiler.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from glob import glob
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))


def interpreter(minor: str) -> str | None:
    """Return the path of a Python interpreter of version *minor* (such as 3.11), from
    the search path or from pyenv; None if there is none.
    """
    kept = os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")
    own = sorted(glob(f"{kept}/versions/{minor}.*/bin/python"))
    for found in (shutil.which(f"python{minor}"), *own):
        if found is None:
            continue
        run = subprocess.run([found, "--version"], capture_output=True)
        if run.returncode == 0:
            return found
    return None


def lowest() -> list[str]:
    """Return requirements for the lowest allowed version of each package of the base
    installation and of the extras fast, plot and serve.
    """
    extras = PROJECT["optional-dependencies"]
    lines = [
        *PROJECT["dependencies"],
        *extras["plot"],
        *extras["serve"],
    ]
    return [re.sub(r"^([\w-]+)>=([\d.]+).*", r"\1==\2.*", line) for line in lines]


def build(folder: str) -> dict[str, str]:
    """Build the sdist of this checkout, and from it the wheel; return the paths of both
    files.
    """
    tree = Path(folder, "tree")
    listing = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    for name in subprocess.check_output(listing, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    building = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        folder,
        str(tree),
    ]
    subprocess.run(building, check=True, stdout=subprocess.DEVNULL)
    return {"wheel": glob(f"{folder}/*.whl")[0], "sdist": glob(f"{folder}/*.tar.gz")[0]}


def tried(python: str, folder: Path, packages: list[str], compiler: bool) -> str:
    """Install *packages* in a new environment in *folder*, and run ``smoke.py`` there.

    Returns what went wrong; empty if nothing did. The pip of the present environment
    installs the packages, and does not compile them to bytecode. Without *compiler* the
    build finds no C compiler.
    """
    inside = str(folder / "bin" / "python")
    smoke = str(Path(__file__).with_name("smoke.py"))
    making = [python, "-m", "venv", "--without-pip", str(folder)]
    pip = [sys.executable, "-m", "pip", "--python", inside]
    commands = [
        making,
        [*pip, "install", "-q", "--no-compile", *packages],
        [inside, "-I", smoke, *([] if compiler else ["--plain"])],
    ]
    hidden = {} if compiler else {"CC": "/nowhere/cc"}
    for command in commands:
        run = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | hidden
        )
        if run.returncode != 0:
            return f"{shlex.join(command)}\n{(run.stdout + run.stderr)[-2000:]}"
    return ""


def main() -> int:
    """Print one line for each environment; return 1 if one of them fails."""
    failed = 0
    oldest = (PYTHONS[0], "fast,plot,serve", lowest())
    none = list[str]()
    rows = [
        (*oldest, True),
        *((minor, "", none, True) for minor in PYTHONS),
        (PYTHONS[0], "", none, False),
    ]
    started: list[tuple[str, Future[str] | None]] = []
    # No folder is cleared: a process that compiles may still write into an earlier one.
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        made = build(folder)
        for number, (minor, extras, pins, compiler) in enumerate(rows):
            form = "sdist" if number % 2 or not compiler else "wheel"
            name = f"Python {minor}, {form}, {' '.join([extras or 'base', *pins])}"
            name += "" if compiler else ", no C compiler"
            python = interpreter(minor)
            if python is None:
                started.append((name, None))
                continue
            package = made[form] + (extras and f"[{extras}]")
            place = Path(folder, f"venv{number}")
            future = pool.submit(tried, python, place, [package, *pins], compiler)
            started.append((name, future))
        for name, trial in started:
            if trial is None:
                print(
                    f"SKIPPED {name}: this Python version is not installed", flush=True
                )
                continue
            wrong = trial.result()
            failed += bool(wrong)
            if wrong:
                print(f"FAILED {name}", wrong, flush=True)
            else:
                print(f"ok {name}", flush=True)
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
