"""Read the graph of processes that Nextflow writes with ``-with-dag``, in all forms.

Nextflow's default is ``dag.html``: a page with a Mermaid flowchart or, in older
versions, with the elements of Cytoscape.js. For other endings Nextflow writes the
flowchart alone (``.mmd``) or Graphviz (``.dot``). All of them become a
:class:`ProcessGraph`, whose vertices are processes, operators and channels. Any other
text in a file is refused with its line.
"""

import html
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ioopt.errors import InstanceError
from ioopt.formats.native import named, read_text
from ioopt.formats.report import Warnings

_SHOWN = 8
"""Largest number of processes of a dependency cycle that a message names."""


@dataclass(frozen=True)
class Vertex:
    """Represent a vertex of the drawn graph.

    ``within`` has the subworkflows around it, outermost first. ``may_run`` is false for
    an operator, a channel or an output.
    """

    label: str = ""
    within: tuple[str, ...] = ()
    may_run: bool = False

    def name_parts(self) -> tuple[str, ...]:
        """Return the parts of the full name of the process, outermost first.

        The parts of ``SUB:ALIGN`` are SUB and ALIGN. The label may be the full name, or
        only ``ALIGN`` if the vertex lies within the subworkflow SUB.
        """
        *above, last = self.label.split(":")
        outer = self.within
        if above and list(outer[-len(above) :]) == above:
            outer = outer[: -len(above)]
        elif above:
            outer = ()
        return (*outer, *above, last)


@dataclass
class ProcessGraph:
    """Represent the graph of processes in a file.

    ``vertices`` maps ids to vertices, and ``after`` has the ids to which the edges of
    each vertex lead. Both are in the order of the file. ``collapses`` is true if the
    file may draw several operators as one.
    """

    name: str
    vertices: dict[str, Vertex] = field(default_factory=dict)
    after: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    collapses: bool = False

    def join(self, source: str, target: str) -> None:
        """Add the edge from *source* to *target*."""
        self.after[source].append(target)


def read_dag(source: str) -> ProcessGraph:
    """Return the graph in *source*, a ``dag.html``, ``.mmd`` or ``.dot`` of Nextflow.

    Raises InstanceError for other files.
    """
    text = read_text(source)
    name = named(source)
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


# Pages

_MERMAID_BLOCK = re.compile(
    r"<(pre|div)\b[^>]*\bclass\s*=\s*[\"'][^\"'>]*\bmermaid\b[^\"'>]*[\"'][^>]*>"
    r"(.*?)</\1\s*>",
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
"""Pattern of the text that is allowed between two items of Cytoscape."""


def _from_page(text: str, name: str) -> ProcessGraph:
    """Return the graph in *text*, a page of HTML."""
    blocks = list(_MERMAID_BLOCK.finditer(text))
    if len(blocks) > 1:
        raise InstanceError(f"{name}: {len(blocks)} Mermaid graphs; expected one")
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
    """Return the graph of the Cytoscape.js elements that begin at *start* in *text*."""
    graph = ProcessGraph(name)
    end = start
    while item := _CYTOSCAPE_ITEM.match(text, _past(_CYTOSCAPE_BETWEEN, text, end)):
        where = f"{name}: line {_line(text, item.start())}"
        given, end = _cytoscape_pairs(text, item.end())
        if not text.startswith("}", end):
            raise InstanceError(f"{where}: not a node or an edge of Cytoscape")
        if given.get("source") and given.get("target"):
            graph.join(given["source"], given["target"])
        else:
            classes = _CYTOSCAPE_CLASSES.match(text, end)
            runs = classes is None or classes[1] == "PROCESS"
            _add_cytoscape_node(graph, given, runs, where)
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


def _cytoscape_pairs(text: str, start: int) -> tuple[dict[str, str], int]:
    """Return the keys and values of the item at *start*, and the position after it."""
    given: dict[str, str] = {}
    end = start
    while pair := _CYTOSCAPE_PAIR.match(text, end):
        key, single_quoted, double_quoted, _ = pair.groups()
        given[key] = double_quoted if single_quoted is None else single_quoted
        end = pair.end()
    return given, end


def _add_cytoscape_node(
    graph: ProcessGraph, given: dict[str, str], runs: bool, where: str
) -> None:
    """Add the node with the keys *given* to *graph*.

    *runs* is true if the node may be a process. Raises InstanceError if *given* is no
    node, or if its id occurred before.
    """
    node = given.get("id", "")
    if not node or "source" in given or "target" in given:
        raise InstanceError(f"{where}: neither a node nor an edge with both its ends")
    if node in graph.vertices:
        raise InstanceError(f"{where}: node {node[:40]!r} is given twice")
    graph.vertices[node] = Vertex(given.get("label", "").strip(), (), runs)


def _line(text: str, at: int) -> int:
    """Return the number of the line that contains position *at*."""
    return text.count("\n", 0, at) + 1


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return the position after the match of *pattern* at *at*, or *at* without a
    match.
    """
    found = pattern.match(text, at)
    if found is None:
        return at
    return found.end()


def _ends(graph: ProcessGraph) -> Iterator[str]:
    """Yield the ids of the vertices at the ends of edges."""
    for source, targets in graph.after.items():
        yield source
        yield from targets


# Mermaid

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
"""Opening and closing marks of each shape of a node, longer marks first."""
_PROCESS_SHAPES = ("([", "(")
_ARROW = re.compile(r"\s*(?:--+>|==+>|-\.+->)\s*(?:\|[^|]*\|\s*)?")
_ARROW_WITH_TEXT = re.compile(r"\s*(?:--|==|-\.)\s[^|]*?\s(?:--+>|==+>|\.+->)\s*")
_AND = re.compile(r"\s*&\s*")
_NEXT_STATEMENT = re.compile(r"\s*;\s*")
_SUBGRAPH = re.compile(r"subgraph\b\s*(?P<rest>.*)")


def _blanked(found: re.Match[str]) -> str:
    """Return only the line ends of a match, so that later lines keep their numbers."""
    return "\n" * found[0].count("\n")


def _without_comments(text: str, name: str) -> str:
    """Return the flowchart without front matter, comments and multi-line directives."""
    if text.lstrip().startswith("---"):
        text = _FRONT_MATTER.sub(_blanked, text, count=1)
    text = _DIRECTIVE.sub(_blanked, text)
    if "%%{" in text:
        raise InstanceError(f"{name}: a directive %%{{ is not closed by }}%%")
    return _COMMENT.sub("", text)


def _from_mermaid(text: str, name: str) -> ProcessGraph:
    """Return the graph in *text*, a Mermaid flowchart."""
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
    """Return the last part of the id of a subgraph, ALIGN for ``RNA:ALIGN [ALIGN]``.

    *text* may be in quotes.
    """
    found = re.fullmatch(r"\s*\"?([^\[\"]*)(?:\[(.*)\])?\"?\s*", text)
    if found is None:
        return text.strip()
    shown = found[1].strip() or (found[2] or "").strip('" ')
    return shown.rpartition(":")[2]


def _read_statement(
    graph: ProcessGraph, statement: str, within: tuple[str, ...], where: str
) -> None:
    """Add the nodes and arrows of one line, such as ``v1([A]) --> v2 & v3``."""
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
    """Read the nodes at position *at*, which are joined by ``&``.

    Return their ids, and the position after them.
    """
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
    """Add the node *name* if its shape and label stand at position *at*.

    Return the position after them, or *at*.
    """
    opening = next((mark for mark in _SHAPES if statement.startswith(mark, at)), None)
    if opening is None:
        return at
    closing = _SHAPES[opening]
    start = at + len(opening)
    quoted = re.compile(rf'\s*"([^"]*)"\s*{re.escape(closing)}').match(statement, start)
    if quoted is not None:
        label = quoted[1]
        end = quoted.end()
    else:
        close = statement.find(closing, start)
        if close < 0:
            raise InstanceError(
                f"{where}: node {name[:40]!r} is not closed by {closing}"
            )
        label = statement[start:close]
        end = close + len(closing)
    vertex = Vertex(label.strip(), within, opening in _PROCESS_SHAPES)
    if graph.vertices.setdefault(name, vertex).label != vertex.label:
        raise InstanceError(
            f"{where}: node {name[:40]!r} is given twice, with two labels"
        )
    return end


# Graphviz

_DOT_COMMENT = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE
)
_DOT_TOKEN = re.compile(
    r'\s+|(?P<comment>//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*)|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<word>[\w.]+)|(?P<mark>->|--|[][{}();,=:+])",
    re.DOTALL | re.MULTILINE,
)


class _Dot:
    """Parser of a Graphviz file.

    The text is split into tokens, each with the number of its line.
    """

    def __init__(self, text: str, name: str) -> None:
        self.graph = ProcessGraph(name)
        self._tokens: list[tuple[str, int]] = []
        at = 0
        line = 1
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
        """Return the next token; empty text at the end of the file."""
        if self._next == len(self._tokens):
            return ""
        return self._tokens[self._next][0]

    def take(self, wanted: str = "") -> str:
        """Return the next token and move past it.

        Raises InstanceError if *wanted* is given and is not the token, or if there is
        none.
        """
        token = self.peek()
        if not token and not wanted:
            raise self._refused("more")
        if not token or (wanted and token != wanted):
            raise self._refused(repr(wanted))
        self._next += 1
        return token

    def _refused(self, wanted: str) -> InstanceError:
        """Return the error that *wanted* is missing, with the line."""
        line = self._tokens[min(self._next, len(self._tokens) - 1)][1]
        found = "the end of the file"
        if self.peek():
            found = repr(self.peek()[:40])
        return InstanceError(
            f"{self.graph.name}: line {line}: not DOT: wanted {wanted}, not {found}"
        )

    def read(self) -> ProcessGraph:
        """Return the graph in the whole file."""
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
        """Read ``{ .. }`` and return the ids of the nodes in it."""
        self.take("{")
        found: list[str] = []
        while self.peek() != "}":
            found += self._statement()
        self.take("}")
        return found

    def _statement(self) -> list[str]:
        """Read one statement and return the ids of the nodes in it."""
        if self.peek() in ("graph", "node", "edge"):
            self.take()
            self._attributes()
            self._end()
            return []
        sources = self._operand()
        if self.peek() == "=":  # This is a setting of the graph, such as rankdir=TB.
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
        """Read a node or a subgraph; return the ids of its nodes."""
        if self.peek() == "subgraph":
            self.take()
            if self.peek() != "{":
                self.take()
        if self.peek() == "{":
            return self._block()
        name = _unquoted(self._value())
        while self.peek() == ":":  # This is a port of the node.
            self.take()
            self._value()
        return [name]

    def _attributes(self) -> dict[str, str]:
        """Read any number of lists ``[key=value, ..]``; return the value of each."""
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
        """Return the next token, which must be a word or a quoted text."""
        if not re.match(r"[\w.\"]", self.peek()):
            raise self._refused("a name")
        return self.take()

    def _end(self) -> None:
        """Move past a ``;`` or ``,`` at the end of a statement, if there is one."""
        if self.peek() in (";", ","):
            self.take()


def _unquoted(token: str) -> str:
    """Return the text of a DOT token without quotes."""
    if not token.startswith('"'):
        return token
    return token[1:-1].replace('\\"', '"')


def _from_dot(text: str, name: str) -> ProcessGraph:
    """Return the graph in *text*, a Graphviz file."""
    try:
        return _Dot(text, name).read()
    except RecursionError:
        raise InstanceError(
            f"{name}: nested too deeply to be a DAG of Nextflow"
        ) from None


# Reduce vertices to processes.


NOT_IN_DAG = "not_in_dag"
"""The key in the ``meta`` of an instance for the processes that the DAG lacks."""
UNNAMED = "the DAG does not name a process, whose tasks are independent"


def earlier_processes(
    graph: ProcessGraph, processes: Collection[str], warnings: Warnings
) -> dict[str, list[str]]:
    """Return, for each process that waits for others, the processes it waits for.

    *processes* are the names in a trace. Between two of them, the graph may have
    operators, channels and processes that did not run. Raises InstanceError if
    processes wait for each other.
    """
    process_of = _matched(graph, processes, warnings)
    named_in_dag = set(process_of.values())
    unnamed = [process for process in processes if process not in named_in_dag]
    warnings[UNNAMED] += unnamed
    earlier: dict[str, list[str]] = defaultdict(list)
    direct: set[tuple[str, str]] = set()
    for vertex in [vertex for vertex in graph.after if vertex in process_of]:
        process = process_of[vertex]
        for next_vertex in graph.after[vertex]:
            if next_vertex in process_of:
                direct.add((process, process_of[next_vertex]))
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
    """Yield the nearest processes that ran on the paths from *vertex*.

    Paths lead through all other vertices.
    """
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
    """Return, for each vertex of a process that ran, the name of that process.

    Two names agree if one of them ends with the other, part by part: ``b`` or ``sub:b``
    and ``main:sub:b``. A process gets the vertex that agrees in most parts. Therefore
    ``sub_2:b`` is not taken for ``sub_1:b``, nor ``sub:b`` for a top-level ``b``.
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
        most, best = _best_agreed(
            (_agreement(name, other), ":".join(other)) for other in by_last[name[-1]]
        )
        if most > NO_AGREEMENT and len(best) == 1:
            claims[best[0]].append((most, vertex))
    process_of: dict[str, str] = {}
    for process, claimed in claims.items():
        _, chosen = _best_agreed(claimed)
        if len(chosen) > 1:
            warnings[_NAMED_TWICE].append(process)
        process_of |= dict.fromkeys(chosen, process)
    return process_of


_NAMED_TWICE = (
    "the DAG names a process more than once; its tasks wait for all that any one does"
)


_Agreement = tuple[int, bool]
"""Number of parts of two names that agree, and whether the names are equal."""
NO_AGREEMENT: _Agreement = (0, False)


def _agreement(one: tuple[str, ...], other: tuple[str, ...]) -> _Agreement:
    """Return the number of parts in which two names agree, and whether they are equal.

    Names agree if the longer name ends with the shorter one, in all parts of the
    latter.

    >>> _agreement(("sub", "b"), ("main", "sub", "b"))
    (2, False)
    >>> _agreement(("x", "b"), ("sub", "b"))
    (0, False)
    """
    count = min(len(one), len(other))
    if one[-count:] != other[-count:]:
        return NO_AGREEMENT
    return (count, one == other)


def _best_agreed(
    claims: Iterable[tuple[_Agreement, str]],
) -> tuple[_Agreement, list[str]]:
    """Return the best agreement among *claims*, and all names that have it."""
    most = NO_AGREEMENT
    best: list[str] = []
    for agreement, name in claims:
        if agreement > most:
            most = agreement
            best = []
        if agreement == most:
            best.append(name)
    return most, best


def _check_no_cycle(
    graph: ProcessGraph, earlier: dict[str, list[str]], direct: set[tuple[str, str]]
) -> None:
    """Raise InstanceError if processes wait for each other, and name the likely cause.

    *direct* has the pairs of processes that a single edge joins.
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
