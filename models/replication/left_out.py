"""What plans the static model leaves out: such as evict held files or fetch again, and relays.

A bound of the model is one of all plans where neither can be of use. Without disk limits and with relays
the model has a point no longer than any plan: the first arrival of each file at each node.
"""

from ioopt.models.replication.static import Moves, StaticInstance, read_pairs


def roomy(instance: StaticInstance) -> bool:
    """Whether every disk takes all files at once, so that no plan is the better for evicting one."""
    total = sum(instance.sizes)
    return all(room is None or room >= total for room in instance.room)


def relays_matter(instance: StaticInstance) -> bool:
    """Whether a node may gain by passing on a copy that it does not read, which (2) forbids.

    Copy entries ask for such copies. One that is passed on once is saved by sending past the node, so
    there must be a sender, the node and two receivers.
    """
    return instance.num_nodes > 3


def past_relays(instance: StaticInstance, moves: Moves) -> Moves:
    """*moves* in which senders send past the nodes that get a copy and do not read it, as (2) asks."""
    read, copies = read_pairs(instance, moves), set(moves.copies)
    while relays := {move for move in copies if (move[0], move[2]) not in read}:
        file, source, relay = min(relays)
        onward = {move for move in copies if move[:2] == (file, relay)}
        copies -= onward | {(file, source, relay)}
        copies |= {(file, source, target) for *_, target in onward}
    return Moves(moves.assign, moves.remote, tuple(sorted(copies)))
