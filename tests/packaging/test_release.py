"""What goes with a release: the citation, the paper, the workflow of the checks, the
image's recipe, the project file.
"""

import re
import shlex
import tomllib

import pytest
from conftest import ROOT

from ioopt.cli.main import COMMANDS
from ioopt.version import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_is_of_this_version_and_names_the_papers():
    """Khanna et al. has a report and a conference paper; each other one paper."""
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], cited["license"]) == (__version__, PROJECT["license"])
    assert PROJECT["version"] == __version__
    page = (ROOT / "docs/references.md").read_text().replace("\n", " ")
    for paper in cited["references"]:
        assert paper["title"].lower() in page.lower(), paper["title"]
        assert all(author["family-names"] in page for author in paper["authors"])
    assert len(cited["references"]) == 5


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


SECTIONS = (
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
)
"""The sections that the Journal of Open Source Software requires, in its order."""


def test_the_paper_has_the_required_sections_and_its_citations_exist():
    yaml = pytest.importorskip("yaml")
    folder = ROOT / "paper"
    _, head, body = (folder / "paper.md").read_text().split("---\n", 2)
    given = yaml.safe_load(head)
    assert {"title", "tags", "authors", "affiliations", "date"} <= set(given)
    titles = re.findall(r"^# (.*)$", body, re.MULTILINE)
    assert titles == [*SECTIONS, "Acknowledgements", "References"]
    assert 750 <= len(body.split()) <= 1750
    bibliography = (folder / given["bibliography"]).read_text()
    keys = re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE)
    assert set(re.findall(r"@(\w+)", body)) == set(keys) and len({*keys}) == len(keys)


def test_the_workflow_and_the_hooks_run_what_the_checks_run():
    yaml = pytest.importorskip("yaml")
    checks = (ROOT / ".ci/run").read_text()
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert "bash .ci/run" in [step.get("run") for step in steps]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        command = hook["entry"].removesuffix(" --force-exclude")
        assert re.search(rf"^{command}\b", checks, re.MULTILINE), command


def test_each_tool_that_the_readme_compares_has_its_sources_on_the_page():
    readme = (ROOT / "README.md").read_text()
    section = readme.partition("## Why ioopt")[2].partition("\n## ")[0]
    tools = re.findall(r"^\| \[([\w-]+)\]", section, re.MULTILINE)
    page = (ROOT / "docs/other-tools.md").read_text()
    read = page.partition("## What was read")[2]
    assert len(tools) == 9
    assert [tool for tool in tools if f"\n| {tool} |" not in read] == []
