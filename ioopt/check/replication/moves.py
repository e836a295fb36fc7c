"""The static rules of one round of a replication plan: (1)-(8), (21), held files, the forest rule."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Violation, violation


@dataclass(frozen=True)
class Stage:
    """One round by positions: where its tasks run, what is on disk before it, what it moves.

    ``assign`` task -> node for the tasks of the round; ``present`` per node the files on disk;
    ``remote`` (file, node); ``copies`` (file, source, destination); ``wanted`` (file, node) pairs
    that a ``{"copy": file}`` queue entry asks for; ``forest`` False allows copies in a cycle.
    """

    assign: Mapping[int, int]
    present: Sequence[frozenset[int]]
    remote: Sequence[tuple[int, int]]
    copies: Sequence[tuple[int, int, int]]
    wanted: frozenset[tuple[int, int]] = frozenset()
    forest: bool = True
    where: str = ""

    def on_disk(self) -> list[set[int]]:
        """Per node, the files it has once all transfers are done (the X of the model)."""
        have = [set(files) for files in self.present]
        for file, node in self.remote:
            have[node].add(file)
        for file, _, node in self.copies:
            have[node].add(file)
        return have


def stage_violations(problem: ReplicationProblem, stage: Stage) -> list[Violation]:
    """All static rules that *stage* breaks, in the order of their equation numbers."""
    have = stage.on_disk()
    found = [
        *_sources(problem, stage, have),
        *_for_readers(problem, stage),
        *_arrivals(problem, stage),
        *_inputs(problem, stage, have),
        *_fetched(problem, stage),
        *_forest(problem, stage),
        *_disk(problem, stage, have),
    ]
    if not stage.where:
        return found
    return [v.model_copy(update={"item": f"{stage.where}: {v.item}"}) for v in found]


def _names(problem: ReplicationProblem, file: int, node: int) -> tuple[str, str]:
    return problem.files[file].id, problem.nodes[node].id


def _sources(
    problem: ReplicationProblem, stage: Stage, have: Sequence[set[int]]
) -> Iterable[Violation]:
    """(1): a node copies only a file that it has, and not to itself."""
    for file, source, target in stage.copies:
        name, node = _names(problem, file, source)
        if source == target:
            yield violation("(1) source", name, f"copied from {node} to itself")
        elif file not in have[source]:
            text = f"copied from {node} to {problem.nodes[target].id}, but {node} never has it"
            yield violation("(1) source", name, text)


def _for_readers(problem: ReplicationProblem, stage: Stage) -> Iterable[Violation]:
    """(2): a file is copied only to a node where a task reads it, or whose queue asks for it."""
    for file, _, target in stage.copies:
        read = any(stage.assign.get(task) == target for task in problem.readers[file])
        if not read and (file, target) not in stage.wanted:
            name, node = _names(problem, file, target)
            yield violation("(2) reader", name, f"copied to {node}, where no task reads it")


def _arrivals(problem: ReplicationProblem, stage: Stage) -> Iterable[Violation]:
    """(3), (6) and held files: a file reaches a node at most once, and never where it is."""
    fetched: dict[tuple[int, int], int] = defaultdict(int)
    copied: dict[tuple[int, int], int] = defaultdict(int)
    for file, node in stage.remote:
        fetched[file, node] += 1
    for file, _, node in stage.copies:
        copied[file, node] += 1
    for file, node in sorted(set(fetched) | set(copied)):
        name, where = _names(problem, file, node)
        far, near = fetched[file, node], copied[file, node]
        if file in stage.present[node]:
            yield violation("held", name, f"brought to {where}, which already holds it")
        if near > 1:
            yield violation("(3) one source", name, f"copied to {where} {near} times", near - 1)
        if far > 1:
            yield violation("(5) one fetch", name, f"fetched to {where} {far} times", far - 1)
        if far and near:
            yield violation("(6) remote or copy", name, f"both fetched and copied to {where}")


def _inputs(
    problem: ReplicationProblem, stage: Stage, have: Sequence[set[int]]
) -> Iterable[Violation]:
    """(7): all inputs of a task are on its node."""
    for task, node in sorted(stage.assign.items()):
        for file in problem.inputs[task]:
            if file not in have[node]:
                name, where = _names(problem, file, node)
                text = f"runs on {where}, which never gets its input {name}"
                yield violation("(7) inputs", problem.tasks[task].id, text)


def _fetched(problem: ReplicationProblem, stage: Stage) -> Iterable[Violation]:
    """(8): a file that a task reads and that no disk holds is fetched at least once."""
    roots = {file for files in stage.present for file in files}
    roots.update(file for file, _ in stage.remote)
    needed = sorted({file for task in stage.assign for file in problem.inputs[task]} - roots)
    for file in needed:
        text = "read, held by no node, and never fetched from remote storage"
        yield violation("(8) remote transfer", problem.files[file].id, text)


def _forest(problem: ReplicationProblem, stage: Stage) -> Iterable[Violation]:
    """Forest rule: every copy descends from a remote transfer or a file that was there before."""
    if not stage.forest:
        return
    for file, cycle in stage_cycles(stage).items():
        names = ", ".join(problem.nodes[node].id for node in cycle)
        text = f"its copies on {names} descend from no remote transfer or held file"
        yield violation("forest", problem.files[file].id, text, len(cycle))


def stage_cycles(stage: Stage) -> dict[int, list[int]]:
    """Per file, the nodes whose copy descends from no root; files without such nodes are left out."""
    sends: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for file, source, target in stage.copies:
        sends[file].append((source, target))
    fetched: dict[int, set[int]] = defaultdict(set)
    for file, node in stage.remote:
        fetched[file].add(node)
    cycles = {}
    for file in sorted(sends):
        reached = {node for node, files in enumerate(stage.present) if file in files}
        reached |= fetched[file]
        grown = True
        while grown:
            new = {target for source, target in sends[file] if source in reached} - reached
            grown = bool(new)
            reached |= new
        lost = sorted({target for _, target in sends[file]} - reached)
        if lost:
            cycles[file] = lost
    return cycles


def _disk(
    problem: ReplicationProblem, stage: Stage, have: Sequence[set[int]]
) -> Iterable[Violation]:
    """(21): the files on a node fit its disk."""
    for node, files in enumerate(have):
        limit = problem.nodes[node].disk_bytes
        used = sum(problem.files[file].bytes for file in files)
        if limit is not None and used > limit:
            text = f"is given {used} bytes of files, but its disk holds {limit}"
            yield violation("(21) disk", problem.nodes[node].id, text, used - limit)


def stage_seconds(problem: ReplicationProblem, stage: Stage) -> list[float]:
    """Exec_i of (12) per node in seconds: copies at both ends (9), compute (10), remote (11).

    The printed (9) and (11) omit the file size; the cost is per byte. Compute is divided by speed.
    """
    far, near = problem.network.remote_bytes_per_second, problem.network.replica_bytes_per_second
    fetched = [0] * len(problem.nodes)
    copied = [0] * len(problem.nodes)
    compute = [0.0] * len(problem.nodes)
    for file, node in stage.remote:
        fetched[node] += problem.files[file].bytes
    for file, source, target in stage.copies:
        copied[source] += problem.files[file].bytes
        copied[target] += problem.files[file].bytes
    for task, node in sorted(stage.assign.items()):
        compute[node] += problem.tasks[task].compute_seconds
    return [
        fetched[i] / far + copied[i] / near + compute[i] / node.speed
        for i, node in enumerate(problem.nodes)
    ]
