"""The graph of processes that Nextflow writes with ``-with-dag``, in every form it has.

Nextflow's default is ``dag.html``: a page with a Mermaid flowchart, or in older
versions with the elements of Cytoscape.js. Other endings give the flowchart alone
(``.mmd``) or Graphviz (``.dot``). All of them become a :class:`ProcessGraph`, whose
vertices are processes, operators and channels. What a form does not say in words that
are known here is refused, with its line, not passed over.
"""

import html
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ioopt.errors import InstanceError
from ioopt.formats.native import named, read_text
from ioopt.formats.report import Warnings

_SHOWN = 8


@dataclass(frozen=True)
class Vertex:
    """One box of the drawing: its label, and the subworkflows that it is drawn
    in, outermost first.

    ``may_run`` is false for what the form marks as an operator, a channel or an output.
    """

    label: str = ""
    within: tuple[str, ...] = ()
    may_run: bool = False

    def name_parts(self) -> tuple[str, ...]:
        """Return the parts of ``SUB:ALIGN``, which may be labelled so or be
        ``ALIGN`` within SUB.
        """
        *above, last = self.label.split(":")
        outer = self.within
        if above:
            outer = outer[: -len(above)] if list(outer[-len(above) :]) == above else ()
        return (*outer, *above, last)


@dataclass
class ProcessGraph:
    """Vertices by their id, and which vertices each one hands something to,
    in the file's order.

    ``collapses`` is true for a form that may draw several operators as one.
    """

    name: str
    vertices: dict[str, Vertex] = field(default_factory=dict)
    after: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    collapses: bool = False

    def join(self, source: str, target: str) -> None:
        """Add the edge from *source* to *target*."""
        self.after[source].append(target)


def read_dag(source: str) -> ProcessGraph:
    """Read *source*, a ``dag.html``, ``.mmd`` or ``.dot`` of Nextflow;
    InstanceError for other files.
    """
    text, name = read_text(source), named(source)
    start = text.lstrip()
    if start.startswith("<"):
        return _from_page(text, name)
    if re.match(r"(?:strict\s+)?digraph\b", _DOT_COMMENT.sub(" ", start).lstrip()):
        return _from_dot(text, name)
    if _MERMAID_START.match(_without_comments(text, name)):
        return _from_mermaid(text, name)
    raise InstanceError(
        f"{name}: neither DOT (digraph), nor Mermaid (flowchart), nor a dag.html with "
        "either of Nextflow's graphs; -with-dag dag.html, dag.mmd and dag.dot can be "
        "read"
    )


# -- pages
# ----------------------------------------------------------------------------------------

_MERMAID_BLOCK = re.compile(
    r"<(pre|div)\b[^>]*\bclass\s*=\s*[\"'][^\"'>]*\bmermaid\b[^\"'>]*[\"'][^>]*>(.*?)</\1\s*>",
    re.DOTALL | re.IGNORECASE,
)
_CYTOSCAPE_ELEMENTS = re.compile(r"[\"']?\belements\b[\"']?\s*:\s*[\[{]")
_CYTOSCAPE_ITEM = re.compile(r"[\"']?\bdata\b[\"']?\s*:\s*\{\s*")
_CYTOSCAPE_PAIR = re.compile(
    r"[\"']?(\w+)[\"']?\s*:\s*(?:'([^'\n]*)'|\"([^\"\n]*)\")\s*(,|(?=\}))\s*"
)
_CYTOSCAPE_CLASSES = re.compile(
    r"\}\s*,\s*[\"']?classes[\"']?\s*:\s*[\"']([\w ]*)[\"']"
)
_CYTOSCAPE_BETWEEN = re.compile(
    r"(?:[\s{}\[\],]|[\"']?\b(?:nodes|edges)\b[\"']?\s*:"
    r"|[\"']?\b(?:classes|group)\b[\"']?\s*:\s*[\"'][\w ]*[\"'])*"
)
"""What may stand between two items; anything else would be an item
that is passed over.
"""


def _from_page(text: str, name: str) -> ProcessGraph:
    """Read the graph that stands in a page of HTML."""
    blocks = list(_MERMAID_BLOCK.finditer(text))
    if len(blocks) > 1:
        raise InstanceError(f"{name}: {len(blocks)} Mermaid graphs; one is wanted")
    if blocks:
        above = text.count("\n", 0, blocks[0].start(2))
        return _from_mermaid("\n" * above + html.unescape(blocks[0][2]), name)
    elements = _CYTOSCAPE_ELEMENTS.search(text)
    if elements is not None:
        return _from_cytoscape(text, elements.end(), name)
    raise InstanceError(
        f"{name}: neither DOT nor a page with a Mermaid or Cytoscape graph; wanted "
        "the file of -with-dag, which Nextflow calls dag-....html (its report and "
        "timeline are other pages)"
    )


def _from_cytoscape(text: str, start: int, name: str) -> ProcessGraph:
    """Read the elements of Cytoscape.js in *text* from *start* on."""
    graph = ProcessGraph(name)
    end = start
    while item := _CYTOSCAPE_ITEM.match(text, _past(_CYTOSCAPE_BETWEEN, text, end)):
        given: dict[str, str] = {}
        end = item.end()
        while pair := _CYTOSCAPE_PAIR.match(text, end):
            given[pair[1]] = pair[2] if pair[2] is not None else pair[3]
            end = pair.end()
        where = f"{name}: line {_line(text, item.start())}"
        if not text.startswith("}", end):
            raise InstanceError(f"{where}: not a node or an edge of Cytoscape")
        if given.get("source") and given.get("target"):
            graph.join(given["source"], given["target"])
            continue
        node = given.get("id", "")
        if not node or "source" in given or "target" in given:
            raise InstanceError(
                f"{where}: neither a node nor an edge with both its ends"
            )
        if node in graph.vertices:
            raise InstanceError(f"{where}: node {node[:40]!r} is given twice")
        classes = _CYTOSCAPE_CLASSES.match(text, end)
        runs = classes is None or classes[1] == "PROCESS"
        graph.vertices[node] = Vertex(given.get("label", "").strip(), (), runs)
    rest = _past(_CYTOSCAPE_BETWEEN, text, end)
    if not text.startswith(")", rest) or "]" not in text[end:rest]:
        raise InstanceError(
            f"{name}: line {_line(text, rest)}: the graph of Cytoscape does not "
            "end here"
        )
    for vertex in _ends(graph):
        if vertex not in graph.vertices:
            raise InstanceError(
                f"{name}: an edge names {vertex[:40]!r}, which is no node"
            )
    return graph


def _line(text: str, at: int) -> int:
    """Return the number of the line that *at* is in."""
    return text.count("\n", 0, at) + 1


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return the place behind what *pattern* finds at *at*, or *at*."""
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _ends(graph: ProcessGraph) -> Iterator[str]:
    """Yield the ids that edges name."""
    for source, targets in graph.after.items():
        yield source
        yield from targets


# -- Mermaid
# --------------------------------------------------------------------------------------

_MERMAID_START = re.compile(
    r"\s*(?:flowchart|graph)\b[ \t]*(?:TB|TD|BT|LR|RL)?\s*(?:;|\n|$)"
)
_DIRECTIVE = re.compile(r"%%\{.*?\}%%", re.DOTALL)
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n.*?\n---[ \t]*(?=\n|$)", re.DOTALL)
_COMMENT = re.compile(r"^[ \t]*%%.*$", re.MULTILINE)
_IGNORED = re.compile(
    r"(?:style|classDef|class|linkStyle|click|direction|accTitle|accDescr)\b.*"
)
_ID = re.compile(r"\w+(?:[.:/-]\w+)*")
_CLASS_OF = re.compile(r":::\w+")
_SHAPES = {
    "([": "])",
    "((": "))",
    "[[": "]]",
    "[(": ")]",
    "[/": "/]",
    "[\\": "\\]",
    "{{": "}}",
    "(": ")",
    "[": "]",
    "{": "}",
    ">": "]",
}
"""How each shape of a node opens and closes; the longer ones are looked for first."""
_PROCESS_SHAPES = ("([", "(")
_ARROW = re.compile(r"\s*(?:--+>|==+>|-\.+->)\s*(?:\|[^|]*\|\s*)?")
_ARROW_WITH_TEXT = re.compile(r"\s*(?:--|==|-\.)\s[^|]*?\s(?:--+>|==+>|\.+->)\s*")
_AND = re.compile(r"\s*&\s*")
_NEXT_STATEMENT = re.compile(r"\s*;\s*")
_SUBGRAPH = re.compile(r"subgraph\b\s*(?P<rest>.*)")


def _blanked(found: re.Match[str]) -> str:
    """Return as many line ends as *found* has, so that the lines
    below keep their numbers.
    """
    return "\n" * found[0].count("\n")


def _without_comments(text: str, name: str) -> str:
    """Return the flowchart without front matter, comments and directives,
    also of several lines.
    """
    text = (
        _FRONT_MATTER.sub(_blanked, text, count=1)
        if text.lstrip()[:3] == "---"
        else text
    )
    text = _DIRECTIVE.sub(_blanked, text)
    if "%%{" in text:
        raise InstanceError(f"{name}: a directive %%{{ is not closed by }}%%")
    return _COMMENT.sub("", text)


def _from_mermaid(text: str, name: str) -> ProcessGraph:
    """Read the flowchart *text*."""
    plain = _without_comments(text, name)
    begun = _MERMAID_START.match(plain)
    if begun is None:
        raise InstanceError(f"{name}: the Mermaid graph is not a flowchart")
    graph = ProcessGraph(name, collapses=True)
    within: list[str] = []
    first_line = plain.count("\n", 0, begun.end())
    for number, line in enumerate(plain[begun.end() :].split("\n"), first_line + 1):
        where = f"{name}: line {number}"
        statement = line.strip().rstrip(";").rstrip()
        opened = _SUBGRAPH.fullmatch(statement)
        if opened is not None:
            within.append(_subworkflow(opened["rest"]))
        elif statement == "end":
            if not within:
                raise InstanceError(f"{where}: an end without a subgraph")
            within.pop()
        elif statement and not _IGNORED.fullmatch(statement):
            _read_statement(graph, statement, tuple(filter(None, within)), where)
    if within:
        raise InstanceError(f"{name}: a subgraph is not closed by an end")
    return graph


def _subworkflow(text: str) -> str:
    """Return the last part of a subgraph's id, which may be quoted:
    ``RNA:ALIGN [ALIGN]``.
    """
    found = re.fullmatch(r"\s*\"?([^\[\"]*)(?:\[(.*)\])?\"?\s*", text)
    if found is None:
        return text.strip()
    shown = found[1].strip() or (found[2] or "").strip('" ')
    return shown.rpartition(":")[2]


def _read_statement(
    graph: ProcessGraph, statement: str, within: tuple[str, ...], where: str
) -> None:
    """Add what one line says: nodes, joined by arrows, such as
    ``v1([A]) --> v2 & v3``.
    """
    sources: list[str] = []
    at = 0
    while True:
        targets, at = _read_nodes(graph, statement, at, within, where)
        for source in sources:
            for target in targets:
                graph.join(source, target)
        if at == len(statement):
            return
        another = _NEXT_STATEMENT.match(statement, at)
        if another is not None:
            sources = []
            at = another.end()
            continue
        arrow = _ARROW_WITH_TEXT.match(statement, at) or _ARROW.match(statement, at)
        if arrow is None:
            raise InstanceError(
                f"{where}: cannot be read as Mermaid: {statement[:60]!r}"
            )
        sources = targets
        at = arrow.end()


def _read_nodes(
    graph: ProcessGraph, statement: str, at: int, within: tuple[str, ...], where: str
) -> tuple[list[str], int]:
    """Return the ids of the nodes at *at*, which ``&`` joins, and where they end."""
    found: list[str] = []
    while True:
        name = _ID.match(statement, at)
        if name is None:
            raise InstanceError(
                f"{where}: cannot be read as Mermaid: {statement[:60]!r}"
            )
        found.append(name[0])
        at = _read_shape(graph, name[0], statement, name.end(), within, where)
        at = _past(_CLASS_OF, statement, at)
        more = _AND.match(statement, at)
        if more is None:
            return found, at
        at = more.end()


def _read_shape(
    graph: ProcessGraph,
    name: str,
    statement: str,
    at: int,
    within: tuple[str, ...],
    where: str,
) -> int:
    """Note the shape and the label of node *name* that begin at *at*, if
    any; return their end.
    """
    opening = next((mark for mark in _SHAPES if statement.startswith(mark, at)), None)
    if opening is None:
        return at
    closing = _SHAPES[opening]
    start = at + len(opening)
    quoted = re.compile(rf'\s*"([^"]*)"\s*{re.escape(closing)}').match(statement, start)
    if quoted is not None:
        label, end = quoted[1], quoted.end()
    else:
        close = statement.find(closing, start)
        if close < 0:
            raise InstanceError(
                f"{where}: node {name[:40]!r} is not closed by {closing}"
            )
        label, end = statement[start:close], close + len(closing)
    vertex = Vertex(label.strip(), within, opening in _PROCESS_SHAPES)
    if graph.vertices.setdefault(name, vertex).label != vertex.label:
        raise InstanceError(
            f"{where}: node {name[:40]!r} is given twice, with two labels"
        )
    return end


# -- DOT
# ------------------------------------------------------------------------------------------

_DOT_COMMENT = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE
)
_DOT_TOKEN = re.compile(
    r'\s+|(?P<comment>//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*)|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<word>[\w.]+)|(?P<mark>->|--|[][{}();,=:+])",
    re.DOTALL | re.MULTILINE,
)


class _Dot:
    """The tokens of a Graphviz file, each with its line, and the
    statements that they make.
    """

    def __init__(self, text: str, name: str) -> None:
        self.graph = ProcessGraph(name)
        self._tokens: list[tuple[str, int]] = []
        at, line = 0, 1
        while at < len(text):
            token = _DOT_TOKEN.match(text, at)
            if token is None:
                raise InstanceError(
                    f"{name}: line {line}: not DOT: {text[at : at + 20]!r}"
                )
            if token["text"] or token["word"] or token["mark"]:
                self._tokens.append((token[0], line))
            line += token[0].count("\n")
            at = token.end()
        self._next = 0

    def peek(self) -> str:
        """Return the next token, empty at the end of the file."""
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def take(self, wanted: str = "") -> str:
        """Return the next token and go past it; refuse another one than
        *wanted*, if that is given.
        """
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise self._refused(repr(wanted) if wanted else "more")
        self._next += 1
        return token

    def _refused(self, wanted: str) -> InstanceError:
        """Return the error that names the line where *wanted* is missing."""
        line = self._tokens[min(self._next, len(self._tokens) - 1)][1]
        found = repr(self.peek()[:40]) if self.peek() else "the end of the file"
        return InstanceError(
            f"{self.graph.name}: line {line}: not DOT: wanted {wanted}, not {found}"
        )

    def read(self) -> ProcessGraph:
        """Read the whole file."""
        if self.peek() == "strict":
            self.take()
        self.take("digraph")
        if self.peek() != "{":
            self.take()
        self._block()
        if self.peek():
            raise self._refused("the end of the file")
        return self.graph

    def _block(self) -> list[str]:
        """Read ``{ .. }`` and return the nodes it names."""
        self.take("{")
        found: list[str] = []
        while self.peek() != "}":
            found += self._statement()
        self.take("}")
        return found

    def _statement(self) -> list[str]:
        """Read one statement and return the nodes it names."""
        if self.peek() in ("graph", "node", "edge"):
            self.take()
            self._attributes()
            self._end()
            return []
        sources = self._operand()
        if self.peek() == "=":  # a setting of the graph, such as rankdir=TB
            self.take()
            self.take()
            self._end()
            return []
        found = list(sources)
        edges = False
        while self.peek() == "->":
            self.take()
            targets = self._operand()
            for source in sources:
                for target in targets:
                    self.graph.join(source, target)
            found += targets
            sources = targets
            edges = True
        given = self._attributes()
        if not edges and "label" in given:
            label = given["label"].strip()
            for node in sources:
                self.graph.vertices[node] = Vertex(label, (), bool(label))
        self._end()
        return found

    def _operand(self) -> list[str]:
        """Read a node, or a subgraph with all that it names."""
        if self.peek() == "subgraph":
            self.take()
            if self.peek() != "{":
                self.take()
        if self.peek() == "{":
            return self._block()
        name = _unquoted(self._value())
        while self.peek() == ":":  # a port of the node
            self.take()
            self._value()
        return [name]

    def _attributes(self) -> dict[str, str]:
        """Read ``[key=value, ..]``, any number of times."""
        given: dict[str, str] = {}
        while self.peek() == "[":
            self.take()
            while self.peek() != "]":
                key = _unquoted(self._value())
                self.take("=")
                given[key] = _unquoted(self._value())
                if self.peek() in (";", ","):
                    self.take()
            self.take("]")
        return given

    def _value(self) -> str:
        """Take a word or a text; refuse a mark."""
        if not re.match(r"[\w.\"]", self.peek()):
            raise self._refused("a name")
        return self.take()

    def _end(self) -> None:
        """Go past what may end a statement."""
        if self.peek() in (";", ","):
            self.take()


def _unquoted(token: str) -> str:
    """Return the text that a token of DOT stands for."""
    return token[1:-1].replace('\\"', '"') if token.startswith('"') else token


def _from_dot(text: str, name: str) -> ProcessGraph:
    """Read the Graphviz *text*."""
    try:
        return _Dot(text, name).read()
    except RecursionError:
        raise InstanceError(
            f"{name}: nested too deeply to be a DAG of Nextflow"
        ) from None


# -- from vertices to processes
# -------------------------------------------------------------------


def earlier_processes(
    graph: ProcessGraph, processes: Collection[str], warnings: Warnings
) -> dict[str, list[str]]:
    """Return the processes that each of *processes*, the names in a trace,
    waits for by *graph*.

    Between two of them lie operators, channels and processes that did not run. Raises
    InstanceError when the processes wait for each other.
    """
    process_of = _matched(graph, processes, warnings)
    named_in_dag = set(process_of.values())
    for process in processes:
        if process not in named_in_dag:
            warnings[
                "the DAG does not name a process, whose tasks are independent"
            ].append(process)
    earlier: dict[str, list[str]] = defaultdict(list)
    direct: set[tuple[str, str]] = set()
    for vertex in [vertex for vertex in graph.after if vertex in process_of]:
        process = process_of[vertex]
        direct |= {
            (process, process_of[x]) for x in graph.after[vertex] if x in process_of
        }
        for later in _reached(graph, vertex, process_of):
            if later == process:
                if graph.collapses and (process, process) not in direct:
                    warnings[_DRAWN_AS_ONE].append(process)
            elif process not in earlier[later]:
                earlier[later].append(process)
    _check_no_cycle(graph, earlier, direct)
    return earlier


_DRAWN_AS_ONE = (
    "an operator leads back to its process, as the DAG draws several operators as "
    "one, so that tasks may wait for more than they did (dag.verbose = true keeps "
    "them apart)"
)


def _reached(
    graph: ProcessGraph, vertex: str, process_of: dict[str, str]
) -> Iterator[str]:
    """Yield the processes next to *vertex*, past all that is no process that ran."""
    stack = list(graph.after[vertex])
    seen: set[str] = set()
    while stack:
        other = stack.pop()
        if other in seen:
            continue
        seen.add(other)
        if other in process_of:
            yield process_of[other]
        else:
            stack += graph.after.get(other, ())


def _matched(
    graph: ProcessGraph, processes: Collection[str], warnings: Warnings
) -> dict[str, str]:
    """Return the process that each vertex stands for, of those that ran.

    Names agree when one ends with the other, part by part: ``b`` or ``sub:b`` and
    ``main:sub:b``. A process is the vertex that agrees in most parts, so
    ``sub_2:b`` is not taken for ``sub_1:b``, nor ``sub:b`` for ``b`` where one of
    that name stands at the top.
    """
    by_last: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for process in processes:
        parts = tuple(process.split(":"))
        by_last[parts[-1]].append(parts)
    claims: dict[str, list[tuple[_Agreement, str]]] = defaultdict(list)
    for vertex in dict.fromkeys((*graph.vertices, *_ends(graph))):
        drawn = graph.vertices.get(vertex, Vertex(vertex, (), True))
        if not drawn.may_run:
            continue
        name = drawn.name_parts()
        agreed = [(_agreement(name, other), other) for other in by_last[name[-1]]]
        most = max((agreement for agreement, _ in agreed), default=NO_AGREEMENT)
        best = [":".join(other) for agreement, other in agreed if agreement == most]
        if most > NO_AGREEMENT and len(best) == 1:
            claims[best[0]].append((most, vertex))
    process_of: dict[str, str] = {}
    for process, claimed in claims.items():
        most = max(agreement for agreement, _ in claimed)
        chosen = [vertex for agreement, vertex in claimed if agreement == most]
        if len(chosen) > 1:
            warnings[_NAMED_TWICE].append(process)
        process_of |= dict.fromkeys(chosen, process)
    return process_of


_NAMED_TWICE = (
    "the DAG names a process more than once; its tasks wait for all that any one does"
)


_Agreement = tuple[int, bool]
NO_AGREEMENT: _Agreement = (0, False)


def _agreement(one: tuple[str, ...], other: tuple[str, ...]) -> _Agreement:
    """Return how many parts the shorter name has if the longer one
    ends with it, else 0.

    The second value says whether the names are equal.

    >>> _agreement(("sub", "b"), ("main", "sub", "b")), _agreement(("x", "b"), ("sub", "b"))
    ((2, False), (0, False))
    """
    count = min(len(one), len(other))
    return (count, one == other) if one[-count:] == other[-count:] else NO_AGREEMENT


def _check_no_cycle(
    graph: ProcessGraph, earlier: dict[str, list[str]], direct: set[tuple[str, str]]
) -> None:
    """Raise InstanceError for processes that wait for each other,
    with the likely cause.
    """
    try:
        TopologicalSorter(earlier).prepare()
        return
    except CycleError as error:
        cycle: list[str] = error.args[1]
    links = pairwise(cycle)
    through_operators = any(link not in direct for link in links)
    path = " -> ".join(process[-60:] for process in cycle[:_SHOWN])
    if through_operators:
        hint = (
            "through an operator that Nextflow draws for several: set dag.verbose = "
            "true in nextflow.config, which draws each, and run again with -resume "
            "(or -preview)"
        )
    else:
        hint = "so the DAG does not say what ran first: leave out --dag"
    raise InstanceError(
        f"{graph.name}: dependency cycle of processes ({path}), {hint}"
    ) from None
