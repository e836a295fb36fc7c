"""Enumerate the assignments of few tasks to a few equal nodes, pruned by copy costs.

Branch and bound in two layers: tasks to nodes, then an option for every file of a
complete assignment (docs/replication-models.md, How ``ip`` searches). The functions
work on flat arrays; compiled and in plain Python they give the same answer. Loads are
whole units.
"""

from typing import NamedTuple

from ioopt.compiled import Box


class Data(NamedTuple):
    """Store the instance as flat arrays: ``ptr``/``files`` list the tasks' files,
    ``work`` and ``alike`` (1: equal to the task before) are per task, ``kind`` per
    file, ``far`` and ``size`` per kind, kinds by falling ``far``. ``base`` is (kind,
    reader nodes) at ``kind * (num_nodes + 1) + p``, p = 0 as p = 1; ``divisor`` (kind,
    later kind) the common divisor of the fetch times between. Options of (kind, mask of
    reader nodes) are those from ``opt_ptr[(kind << num_nodes) + mask]``, by rising
    ``excess`` over ``base``; ``opt_load`` and ``opt_low`` (load without a fetch) are
    (option, node), ``opt_has`` the mask of nodes that store the file. ``room`` bytes of
    a node, -1 without limit.
    """

    num_nodes: int
    num_tasks: int
    num_files: int
    num_kinds: int
    ptr: Box
    files: Box
    work: Box
    alike: Box
    kind: Box
    far: Box
    size: Box
    base: Box
    divisor: Box
    opt_ptr: Box
    opt_load: Box
    opt_low: Box
    opt_excess: Box
    opt_has: Box
    room: int


class State(NamedTuple):
    """Store what a run changes.

    The first layer is indexed by depth (``assign`` .. ``used``), the second by place
    (``group`` .. ``stored``). ``count`` and ``low`` are the files and the unavoidable
    units of each group.
    """

    assign: Box
    mask: Box
    cost: Box
    top: Box
    load: Box
    used: Box
    count: Box
    low: Box
    group: Box
    end: Box
    fetch: Box
    must: Box
    chosen: Box
    spare: Box
    total: Box
    stored: Box
    numbers: Box


# Cells of ``State.numbers``.
DEPTH = 0
UPPER = 1
NODES = 2
NUMBERS = 3
# Outcomes of a search.
DONE = 0
FOUND = 1
LIMIT = 2
STUCK = 3


def search(data: Data, state: State, limit: int, leaf_limit: int) -> int:
    """Search until a plan within UPPER is FOUND, all is DONE, or *limit* nodes are
    visited.

    After FOUND, lower UPPER and call again: the same assignment is examined once more.
    An assignment that takes more than *leaf_limit* nodes ends the search as STUCK.
    """
    numbers = state.numbers
    tasks = data.num_tasks
    while numbers[DEPTH] >= 0:
        if numbers[NODES] >= limit:
            return LIMIT
        depth = numbers[DEPTH]
        if depth == tasks:
            verdict = settle(data, state, leaf_limit)
            if verdict != DONE:
                return verdict
            numbers[DEPTH] = depth - 1
        elif not place(data, state, depth):
            state.assign[depth] = -1
            numbers[DEPTH] = depth - 1
    return DONE


def place(data: Data, state: State, depth: int) -> bool:
    """Put task *depth* on the next node, if any; go deeper if a better plan is
    possible.
    """
    nodes = data.num_nodes
    files = data.num_files
    state.assign[depth] += 1
    node = state.assign[depth]
    # Nodes are equal: a task goes to a node in use or to the first unused one.
    if node > min(state.top[depth], nodes - 1):
        return False
    state.numbers[NODES] += 1
    here = depth * files
    there = (depth + 1) * files
    for file in range(files):
        state.mask[there + file] = state.mask[here + file]
    cost = state.cost[depth]
    used = state.used[depth * nodes + node]
    for at in range(data.ptr[depth], data.ptr[depth + 1]):
        file = data.files[at]
        before = state.mask[here + file]
        if (before >> node) & 1:
            continue
        state.mask[there + file] = before | (1 << node)
        first = data.kind[file] * (nodes + 1) + bits(before)
        cost += data.base[first + 1] - data.base[first]
        used += data.size[data.kind[file]]
    if cost > nodes * state.numbers[UPPER] or 0 <= data.room < used:
        return True
    for i in range(nodes):
        state.load[(depth + 1) * nodes + i] = state.load[depth * nodes + i]
        state.used[(depth + 1) * nodes + i] = state.used[depth * nodes + i]
    state.load[(depth + 1) * nodes + node] += data.work[depth]
    state.used[(depth + 1) * nodes + node] = used
    state.cost[depth + 1] = cost
    state.top[depth + 1] = max(state.top[depth], node + 1)
    state.numbers[DEPTH] = depth + 1
    if depth + 1 < data.num_tasks:
        state.assign[depth + 1] = node - 1 if data.alike[depth + 1] else -1
    return True


def bits(mask: int) -> int:
    """Return how many bits are set."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


def settle(data: Data, state: State, leaf_limit: int) -> int:
    """Return whether the files of a complete assignment can be placed within UPPER."""
    spare = data.num_nodes * state.numbers[UPPER] - state.cost[data.num_tasks]
    if spare < 0:
        return DONE
    lay_out(data, state, spare)
    if not may_fit(data, state, 0):
        return DONE
    return choose(data, state, leaf_limit)


def lay_out(data: Data, state: State, spare: int) -> None:
    """Order the files; for each place in this order, note the fetches and loads still
    to come.
    """
    nodes = data.num_nodes
    files = data.num_files
    masks = 1 << nodes
    for group in range(data.num_kinds * masks):
        state.count[group] = 0
    for file in range(files):
        state.count[
            data.kind[file] * masks + state.mask[data.num_tasks * files + file]
        ] += 1
    place = 0
    for kind in range(data.num_kinds):
        # Files with several reader nodes restrict the search most, so they come first.
        for mask in range(masks - 1, 0, -1):
            group = kind * masks + mask
            for _ in range(state.count[group]):
                state.group[place] = group
                place += 1
            if state.count[group] > 0:
                unavoidable(data, state, group, spare)
        state.end[kind] = place
    state.fetch[files] = 0
    for i in range(nodes):
        state.must[files * nodes + i] = 0
        state.total[i] = state.load[data.num_tasks * nodes + i]
        state.stored[i] = 0
    for at in range(files - 1, -1, -1):
        group = state.group[at]
        state.fetch[at] = state.fetch[at + 1] + data.far[group // masks]
        for i in range(nodes):
            state.must[at * nodes + i] = (
                state.must[(at + 1) * nodes + i] + state.low[group * nodes + i]
            )
    state.spare[0] = spare


def unavoidable(data: Data, state: State, group: int, spare: int) -> None:
    """Note the least load that a file of *group* causes on each node beside fetches."""
    nodes = data.num_nodes
    first = data.opt_ptr[group]
    for i in range(nodes):
        state.low[group * nodes + i] = data.opt_low[first * nodes + i]
    for option in range(first + 1, data.opt_ptr[group + 1]):
        if data.opt_excess[option] > spare:
            break
        for i in range(nodes):
            low = data.opt_low[option * nodes + i]
            state.low[group * nodes + i] = min(state.low[group * nodes + i], low)


def may_fit(data: Data, state: State, place: int) -> bool:
    """Return whether the remaining fetches, from *place* on, fit the nodes' free load.

    Only multiples of the common divisor of fetch times count as free.
    """
    nodes = data.num_nodes
    upper = state.numbers[UPPER]
    for i in range(nodes):
        if upper < state.total[place * nodes + i] + state.must[place * nodes + i]:
            return False
    if place == data.num_files:
        return True
    first = state.group[place] >> nodes
    for kind in range(first, data.num_kinds):
        step = data.divisor[first * data.num_kinds + kind]
        wanted = state.fetch[place] - state.fetch[state.end[kind]]
        for i in range(nodes):
            free = (
                upper - state.total[place * nodes + i] - state.must[place * nodes + i]
            )
            wanted -= free // step * step
        if wanted > 0:
            return False
    return True


def choose(data: Data, state: State, leaf_limit: int) -> int:
    """Search the options of all files, depth first."""
    files = data.num_files
    visited = 0
    place = 0
    if files == 0:
        return FOUND
    state.chosen[0] = data.opt_ptr[state.group[0]] - 1
    while place >= 0:
        visited += 1
        state.chosen[place] += 1
        option = state.chosen[place]
        group = state.group[place]
        if (
            option >= data.opt_ptr[group + 1]
            or data.opt_excess[option] > state.spare[place]
        ):
            place -= 1
            continue
        if visited > leaf_limit:
            state.numbers[NODES] += visited
            return STUCK
        if not take(data, state, place, option) or not may_fit(data, state, place + 1):
            continue
        place += 1
        if place == files:
            state.numbers[NODES] += visited
            return FOUND
        same = state.group[place] == group
        state.chosen[place] = (
            option - 1 if same else data.opt_ptr[state.group[place]] - 1
        )
    state.numbers[NODES] += visited
    return DONE


def take(data: Data, state: State, place: int, option: int) -> bool:
    """Add the loads of *option* after *place*; return False if a disk would
    overflow.
    """
    nodes = data.num_nodes
    size = data.size[state.group[place] >> nodes]
    state.spare[place + 1] = state.spare[place] - data.opt_excess[option]
    for i in range(nodes):
        here = place * nodes + i
        there = (place + 1) * nodes + i
        state.total[there] = state.total[here] + data.opt_load[option * nodes + i]
        state.stored[there] = (
            state.stored[here] + ((data.opt_has[option] >> i) & 1) * size
        )
        if 0 <= data.room < state.stored[there]:
            return False
    return True
