"""Enumerate the assignments of few tasks to a few equal nodes, pruned by lower bounds.

It is a branch and bound in two layers. The first assigns tasks to nodes. The second
chooses, for each complete assignment, an option for every file: a way to bring the file
to its readers (docs/replication-models.md, How ``ip`` searches). The code runs in plain
Python and compiled. Loads are whole units.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Data:
    """The constant data of one instance.

    A *kind* is a class of files with equal fetch time, copy time and size; kinds are
    sorted by falling fetch time. A *mask* is the bit set of the nodes that read a file.
    An *option* is a way to bring a file to these nodes.

    - ``ptr``, ``files``: task k reads ``files[ptr[k]:ptr[k + 1]]``.

    - ``work``: units of computing of each task. ``alike``: 1 if a task equals the task
      before it.

    - ``kind``: kind of each file. ``far``, ``size``: units of a fetch, and bytes, of
      each kind.

    - ``base``: at ``kind * (num_nodes + 1) + p``, the least sum of loads for p reader
      nodes; the cell for p = 0 repeats that for p = 1.

    - ``divisor``: at ``first * num_kinds + last``, the common divisor of the fetch
      times of kinds *first* to *last*.

    - ``opt_ptr``: the options of a group begin at ``opt_ptr[(kind << num_nodes) +
      mask]``, in order of rising ``opt_excess``, which is the sum of loads above
      ``base``.

    - ``opt_load``, ``opt_low``: at ``option * num_nodes + node``, the load, and the
      load without the fetch. ``opt_has``: bit set of the nodes that store the file.

    - ``room``: bytes of the disk of each node, -1 if unlimited.
    """

    num_nodes: int
    num_tasks: int
    num_files: int
    num_kinds: int
    ptr: list[int]
    files: list[int]
    work: list[int]
    alike: list[int]
    kind: list[int]
    far: list[int]
    size: list[int]
    base: list[int]
    divisor: list[int]
    opt_ptr: list[int]
    opt_load: list[int]
    opt_low: list[int]
    opt_excess: list[int]
    opt_has: list[int]
    room: int


@dataclass(slots=True)
class State:
    """What the search changes.

    The fields ``assign`` to ``used`` belong to the first layer and are indexed by
    depth, the number of assigned tasks. The fields ``group`` to ``stored`` belong to
    the second layer and are indexed by place, the position in the order of the files.
    For each group of files, ``count`` is the number of its files, and ``low`` the least
    load without fetches that each of them causes on each node.

    ``depth`` is the number of tasks that are assigned, -1 at the end; ``upper`` the
    largest load, in units, that a plan may have; ``visited`` the number of tree nodes.
    """

    assign: list[int]
    mask: list[int]
    cost: list[int]
    top: list[int]
    load: list[int]
    used: list[int]
    count: list[int]
    low: list[int]
    group: list[int]
    end: list[int]
    fetch: list[int]
    must: list[int]
    chosen: list[int]
    spare: list[int]
    total: list[int]
    stored: list[int]
    depth: int
    upper: int
    visited: int


# Outcomes of a search.
DONE = 0
FOUND = 1
LIMIT = 2
STUCK = 3


def search(data: Data, state: State, limit: int, leaf_limit: int) -> int:
    """Search until a plan within ``upper`` is FOUND, the search is DONE, or *limit*
    nodes are visited.

    After FOUND, lower ``upper`` and call again: the same assignment is searched once
    more. If the files of one assignment take more than *leaf_limit* nodes, the search
    ends as STUCK.
    """
    tasks = data.num_tasks
    while state.depth >= 0:
        if state.visited >= limit:
            return LIMIT
        depth = state.depth
        if depth == tasks:
            verdict = settle(data, state, leaf_limit)
            if verdict != DONE:
                return verdict
            state.depth = depth - 1
        elif not place(data, state, depth):
            state.assign[depth] = -1
            state.depth = depth - 1
    return DONE


def place(data: Data, state: State, depth: int) -> bool:
    """Put task *depth* on the next node to try; return False if no node is left to try.

    Go one task deeper unless bounds exclude a plan within ``upper``.
    """
    nodes = data.num_nodes
    files = data.num_files
    state.assign[depth] += 1
    node = state.assign[depth]
    # Compute nodes are equal, so a task goes to a node in use or to the first unused
    # one.
    if node > min(state.top[depth], nodes - 1):
        return False
    state.visited += 1
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
    if cost > nodes * state.upper or 0 <= data.room < used:
        return True
    for i in range(nodes):
        state.load[(depth + 1) * nodes + i] = state.load[depth * nodes + i]
        state.used[(depth + 1) * nodes + i] = state.used[depth * nodes + i]
    state.load[(depth + 1) * nodes + node] += data.work[depth]
    state.used[(depth + 1) * nodes + node] = used
    state.cost[depth + 1] = cost
    state.top[depth + 1] = max(state.top[depth], node + 1)
    state.depth = depth + 1
    if depth + 1 < data.num_tasks:
        state.assign[depth + 1] = node - 1 if data.alike[depth + 1] else -1
    return True


def bits(mask: int) -> int:
    """Return the number of set bits."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


def settle(data: Data, state: State, leaf_limit: int) -> int:
    """Search for options, within ``upper``, for the files of the present complete
    assignment.

    Return FOUND, STUCK after *leaf_limit* nodes, or DONE if there are none.
    """
    spare = data.num_nodes * state.upper - state.cost[data.num_tasks]
    if spare < 0:
        return DONE
    lay_out(data, state, spare)
    if not may_fit(data, state, 0):
        return DONE
    return choose(data, state, leaf_limit)


def lay_out(data: Data, state: State, spare: int) -> None:
    """Fix the order of the files, and prepare the sums that the bounds of the second
    layer need.

    For each place in this order, store the units of fetches and the unavoidable loads
    of the file at this place and all later files. *spare* is the sum of loads that may
    be added above ``base``.
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
    """Store, for each node, the least load without fetches that a file of *group*
    causes.

    Options with an excess above *spare* are left out.
    """
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
    """Return whether the fetches of the files from *place* on may fit the free load of
    the nodes.

    Free load counts only in multiples of the common divisor of the fetch times.
    """
    nodes = data.num_nodes
    upper = state.upper
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
    """Choose an option for every file by depth-first search.

    Return FOUND, STUCK after *leaf_limit* nodes, or DONE if no combination fits.
    """
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
            state.visited += visited
            return STUCK
        if not take(data, state, place, option) or not may_fit(data, state, place + 1):
            continue
        place += 1
        if place == files:
            state.visited += visited
            return FOUND
        same = state.group[place] == group
        state.chosen[place] = (
            option - 1 if same else data.opt_ptr[state.group[place]] - 1
        )
    state.visited += visited
    return DONE


def take(data: Data, state: State, place: int, option: int) -> bool:
    """Give *option* to the file at *place*; return False if a disk would overflow.

    The resulting loads and stored bytes are written to the next place.
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
