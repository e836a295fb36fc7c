"""What code refers to is there: rules, sections, equations and features
have their headings.

Read are docstrings, comments and the texts of the registry in ioopt, models and
solvers. Rules stand in docs/rules, sections and equations of each paper in
docs/references.md; a model may number its own constraints in its first docstring.
"""

import ast
import re
from functools import cache

import pytest
from conftest import ROOT
from source_trees import parse

RULES = ROOT / "docs" / "rules"
PAPERS = {
    "replication": "Khanna",
    "batch-io": "Zhou",
    "gang": "Zhang",
    "flexgang": "Lee",
}
COUNTS = {"batch-io": 37, "gang": 17, "replication": 11, "flexgang": 13}
ROOMS = (  # the first that matches; files elsewhere name the family or the authors
    ("replication", r"/replication(/|\.py)"),
    ("batch-io", r"/batch_(io|jobs)(_\w+)?(/|\.py)|/(io_)?requests"),
    (
        "flexgang",
        r"/(flexgang|measure)/|/flexgang(_\w+)?\.py|/plot/(characteristic|tradeoff|gangedness)",
    ),
    ("gang", r"/gang(_\w+)?(/|\.py)"),
)
_JOIN = r"(?:,? and |, | to |-)"
_SECTION = r"(?:[IVX]+(?:\.[A-Z](?:\.\d)?)?|\d+(?:\.\d+)*)(?![\w%])"
RULE = re.compile(
    rf"\b(timeline |workflow )?rules? (\d+(?:{_JOIN}\d+)*)"
    r"(?: of (batch I/O|gang scheduling|replication))?",
    re.I,
)
SECTION = re.compile(rf"\bSections? ({_SECTION}(?:{_JOIN}{_SECTION})*)")
SECTION_WITHOUT_NUMBER = re.compile(rf"\bSections? (?!{_SECTION})")
EQUATION = re.compile(r"(?<![\w\])])\(([1-9]\d?)\)|\bequations? (\d+)")
EQUATIONS = re.compile(r"(?<![\w\])])\((\d{1,2})\)(?:-| to )\((\d{1,2})\)")
FEATURE = re.compile(r"\bF(\d\d?)\b")
PICTURE = re.compile(rf"\b(Figure|Table|Algorithm)s? (\d+(?:{_JOIN}\d+)*)")
AUTHOR = re.compile(r"\b([A-Z][\w-]+) (?:et al\.|and [A-Z]\w+\b)")


def numbers(text: str) -> set[int]:
    """The numbers of "1", "1 and 3", "1, 2 and 4", "2 to 5"."""
    found: set[int] = set()
    parts = re.split(_JOIN, text)
    for joint, part in zip(["", *re.findall(_JOIN, text)], parts, strict=True):
        first = max(found) if joint.strip() in ("to", "-") else int(part)
        found |= set(range(first, int(part) + 1))
    return found


@cache
def headings(family: str, timeline: bool = False) -> list[int]:
    text = (RULES / f"{family}.md").read_text("utf-8")
    name = "Timeline rule" if timeline else "Rule"
    return [int(number) for number in re.findall(rf"^### {name} (\d+): ", text, re.M)]


@cache
def features() -> list[int]:
    text = (RULES / "flexgang.md").read_text("utf-8")
    return [int(number) for number in re.findall(r"^## F(\d): ", text, re.M)]


@cache
def paper(author: str) -> tuple[frozenset[str], frozenset[int]]:
    """Sections and equations of a source in docs/references.md."""
    text = (ROOT / "docs" / "references.md").read_text("utf-8")
    own = re.search(rf"^## {author} et al\.\n(.*?)(?=^## )", text, re.M | re.S)
    if own is None:
        line = re.search(rf"^- [^:]*\b{author}\b(?:.|\n )*", text, re.M)
        return frozenset(SECTION.findall(line.group(0)) if line else ()), frozenset()
    sections = {
        name
        for row in re.findall(r"^\| ([^|]+) \|", own.group(1), re.M)
        for name in row.split(", ")
    }
    equations: set[int] = set()
    for first, joint, last in re.findall(
        r"equations? \((\d+)\)(?: (to|and) \((\d+)\))?", own.group(1)
    ):
        equations |= numbers(f"{first} {joint} {last}" if joint else first)
    return frozenset(sections), frozenset(equations)


@cache
def pictures(author: str, kind: str) -> int:
    """How many figures, tables or algorithms a paper has."""
    text = (ROOT / "docs" / "references.md").read_text("utf-8")
    own = re.search(rf"^## {author} et al\.\n(.*?)^\|", text, re.M | re.S)
    found = re.search(rf"{kind}s? 1(?:\sto\s(\d+))?[,.]", own.group(1)) if own else None
    return int(found.group(1) or 1) if found else 0


def author_before(text: str, family: str | None) -> str:
    """Whose section or figure follows *text*: the authors named last, else
    those of the family.
    """
    authors = AUTHOR.findall(text[-60:])
    return authors[-1] if authors else PAPERS.get(family or "", "")


def family_of(name: str) -> str | None:
    return next((family for family, pattern in ROOMS if re.search(pattern, name)), None)


def owner_of(named: str, family: str | None, kind: str = "") -> str:
    """The family whose rule is meant: the one that is named with it,
    else that of the file.
    """
    if kind == "workflow ":
        return "workflow"
    known = {"batch i/o": "batch-io", "gang scheduling": "gang"}
    return known.get(named.lower(), named or family or "")


@cache
def texts(source: str, name: str) -> tuple[str, ...]:
    """Return docstrings, comments and, in the files of families, all text; each on
    one line.
    """
    found = []
    for node in ast.walk(parse(source)):
        registered = "/families/" in name and isinstance(node, ast.Constant)
        value = (
            node.value if isinstance(node, ast.Expr) else node if registered else None
        )
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.append(re.sub(r"\s+", " ", value.value))
    found += [line.partition("#")[2] for line in source.splitlines() if "#" in line]
    return tuple(found)


def unresolved(source: str, name: str) -> list[str]:
    """References in *source*, the text of the file *name*, to nothing."""
    family = family_of(name)
    module = re.sub(r" +", " ", ast.get_docstring(parse(source)) or "")
    wrong: list[str] = []
    for text in texts(source, name):
        own = {int(n) for n in re.findall(r"(?:^|;)\s*\((\d+)\) ", module, re.M)}
        own |= {int(n) for n in re.findall(r"\. \((\d+)\) [A-Z]", text)}
        for timeline, listed, named in RULE.findall(text):
            owner = owner_of(named, family, timeline)
            ruled = owner in COUNTS or owner == "workflow"
            known = headings(owner, timeline == "timeline ") if ruled else []
            wrong += [f"{timeline}rule {n}" for n in numbers(listed) - set(known)]
        for found in SECTION.finditer(text):
            author = author_before(text[: found.start()], family)
            known_sections = paper(author)[0] if author else frozenset()
            listed_sections = re.split(_JOIN, found.group(1))
            wrong += [
                f"{author}, Section {s}"
                for s in listed_sections
                if s not in known_sections
            ]
        for found in PICTURE.finditer(text):
            author = author_before(text[: found.start()], family)
            last = pictures(author, found.group(1)) if author else 0
            wrong += [
                f"{author}, {found.group(1)} {n}"
                for n in numbers(found.group(2))
                if n > last
            ]
        wrong += [f"{found}?" for found in SECTION_WITHOUT_NUMBER.findall(text)]
        known_equations = own or (paper(PAPERS[family])[1] if family else frozenset())
        cited = {int(a or b) for a, b in EQUATION.findall(text)}
        for first, last in EQUATIONS.findall(text):
            cited |= set(range(int(first), int(last) + 1))
        wrong += [f"({n})" for n in cited - set(known_equations)]
        wrong += [f"F{n}" for n in FEATURE.findall(text) if int(n) not in features()]
    return wrong


@cache
def sources() -> list[tuple[str, str]]:
    folders = (ROOT / "ioopt", ROOT / "models", ROOT / "solvers")
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return [
        (f"/{path.relative_to(ROOT).as_posix()}", path.read_text("utf-8"))
        for path in paths
    ]


@pytest.mark.parametrize(("family", "count"), COUNTS.items())
def test_rules_are_numbered_once_and_in_order(family: str, count: int) -> None:
    found = headings(family)
    assert found == sorted(set(found)) and found[:count] == list(range(1, count + 1))


def test_timeline_rules_and_features_have_their_headings() -> None:
    assert headings("replication", timeline=True) == list(range(1, 13))
    assert headings("workflow") == list(range(1, 32))
    assert features() == [1, 2, 3, 4, 5, 6]


def test_every_reference_in_the_code_has_its_heading() -> None:
    missing = {
        name: wrong for name, text in sources() if (wrong := unresolved(text, name))
    }
    assert not missing


def cited() -> set[tuple[str, bool, int]]:
    """(family, whether of the timeline, number) of every rule that
    some code refers to.
    """
    return {
        (owner_of(named, family_of(name), timeline), timeline == "timeline ", number)
        for name, source in sources()
        for text in texts(source, name)
        for timeline, listed, named in RULE.findall(text)
        for number in numbers(listed)
    }


def test_every_rule_leads_to_the_code_that_keeps_it() -> None:
    """Whoever searches the code for "rule 9" of a family finds it."""
    wanted = {
        (family, False, n)
        for family, count in COUNTS.items()
        for n in range(1, count + 1)
    }
    wanted |= {("replication", True, n) for n in headings("replication", timeline=True)}
    assert wanted <= cited()


@pytest.mark.parametrize(
    ("folder", "text", "wrong"),
    [
        ("sim/batch_io", "As rule 29 says", []),
        ("sim/batch_io", "As rule 99 says", ["rule 99"]),
        ("sim/gang", "Rules 16 to 18", ["rule 18"]),
        ("embed", "rule 5 of batch I/O", []),
        ("embed", "rule 5", ["rule 5"]),
        ("sim/replication", "timeline rule 6", []),
        ("sim/replication", "timeline rule 13", ["timeline rule 13"]),
        ("solvers/gang", "Sections 3.6 and 3.8", ["Zhang, Section 3.8"]),
        ("formats", "Zhou et al., Sections III.A.4 and IV.B", []),
        ("formats", "Section 3", [", Section 3"]),
        ("formats", "Boito et al., IO-Sets, Section VI", ["Boito, Section VI"]),
        ("formats", "Nobody et al., Section 1", ["Nobody, Section 1"]),
        ("sim/gang", "Figures 4, 6 and 11", ["Zhang, Figure 11"]),
        ("measure", "Table 4", ["Lee, Table 4"]),
        ("measure", "Algorithm 1 of nobody", ["Lee, Algorithm 1"]),
        ("plot", "Zhou et al., Algorithm 1", []),
        ("models/replication", "(14)-(22), equation 8", []),
        ("models/replication", "(22) and (23)", ["(23)"]),
        ("models/gang", "By (1)", ["(1)"]),
        ("models/gang", "\n(1) x = 1\n(2) y = 1\n\nBy (2), by (3)", ["(3)"]),
        ("models/flexgang", "F6 and F7", ["F7"]),
    ],
)
def test_an_unknown_number_is_found(folder: str, text: str, wrong: list[str]) -> None:
    assert unresolved(f'"""{text}"""\n', f"/{folder}/x.py") == wrong
    assert unresolved(f"# {text.splitlines()[-1]}\n", f"/{folder}/x.py") or not wrong


@pytest.mark.parametrize("family", PAPERS)
def test_sources_of_rules_are_sections_of_the_paper(family: str) -> None:
    text = (RULES / f"{family}.md").read_text("utf-8")
    cited = [  # a source ends with its paragraph
        section
        for source in re.findall(r"\*\*Source:\*\*((?:(?!\*\*|\n\n).)*)", text, re.S)
        for section in re.findall(
            r"\b(?:[IVX]+\.[A-Z](?:\.\d)?|\d\.\d(?:\.\d)?)\b", source
        )
    ]
    assert len(cited) >= 4
    assert set(cited) <= paper(PAPERS[family])[0]
