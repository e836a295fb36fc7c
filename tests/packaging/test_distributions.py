"""The wheel and the sdist: one top level, every file there, data included."""

import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

IGNORED = (
    ".git",
    ".venv",
    "__pycache__",
    "build",
    "dist",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
)


LINKS = ("models", "solvers", "instances")


def build(out, links=None):
    """Wheel and sdist of a copy of the checkout; *links* says what became
    of its symbolic links.
    """
    tree = out / "tree"
    shutil.copytree(
        ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(*IGNORED, "*.egg-info")
    )
    for name in LINKS if links else ():
        (tree / "ioopt" / name).unlink()
        if links == "text files":
            (tree / "ioopt" / name).write_text(f"../{name}")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--outdir",
            str(out),
            str(tree),
        ],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return out


def packed(out):
    with zipfile.ZipFile(next(out.glob("*.whl"))) as wheel:
        return wheel.namelist()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"))


@pytest.mark.slow
@pytest.mark.parametrize("links", ["text files", "missing"])
def test_a_checkout_without_symbolic_links_makes_the_same_wheel(built, tmp_path, links):
    """As git leaves one with core.symlinks=false, or an archive unpacked
    where links cannot be.

    The wheel is built from the sdist, so that one is whole too.
    """
    assert sorted(packed(build(tmp_path, links))) == sorted(packed(built))


@pytest.mark.slow
def test_the_wheel_holds_only_ioopt(built):
    """It is built from the sdist, which so has all of it too."""
    names = packed(built)
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ioopt"}
    for folder in ("ioopt", "models", "solvers"):
        wanted = {
            (path if folder == "ioopt" else "ioopt" / path).as_posix()
            for path in (p.relative_to(ROOT) for p in (ROOT / folder).rglob("*.py"))
        }
        assert wanted and wanted <= set(names), sorted(wanted - set(names))[:5]
    data = {
        ("ioopt" / path.relative_to(ROOT)).as_posix()
        for path in (ROOT / "instances").rglob("*.json")
    }
    assert data and data <= set(names)
    assert "ioopt/py.typed" in names
    assert any(name.endswith("/LICENSE") for name in names)
