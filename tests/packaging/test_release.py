"""What goes with a release: the citation, the image's recipe, the project file."""

import re
import shlex
import tomllib

import pytest
from conftest import ROOT

from ioopt.cli.main import COMMANDS
from ioopt.version import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_is_of_this_version_and_names_the_four_papers():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], cited["license"]) == (__version__, PROJECT["license"])
    assert PROJECT["version"] == __version__
    page = (ROOT / "docs/references.md").read_text().replace("\n", " ")
    for paper in cited["references"]:
        assert paper["title"].lower() in page.lower(), paper["title"]
        assert all(author["family-names"] in page for author in paper["authors"])
    assert len(cited["references"]) == 4


def test_the_image_s_recipe_uses_what_is_there():
    """No container engine here: instructions, extras and commands are held
    against the project.
    """
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    steps = [
        line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#"
    ]
    assert steps[0][0] == "FROM" and {step for step, _ in steps} <= {
        "FROM",
        "COPY",
        "RUN",
        "ENV",
        "USER",
        "WORKDIR",
        "ENTRYPOINT",
        "CMD",
    }
    minor = re.match(r"python:3\.(\d+)", steps[0][1])
    assert (
        minor
        and f"Programming Language :: Python :: 3.{minor[1]}" in PROJECT["classifiers"]
    )
    runs = " && ".join(rest for step, rest in steps if step == "RUN")
    (extras,) = re.findall(r"\[([\w,]+)\]", runs)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    for command in runs.split("&&"):
        words = shlex.split(command)
        if words[0] == "ioopt":
            assert {*words} & {*COMMANDS}
