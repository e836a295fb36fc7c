"""What replays of the replication family may do beyond the rules (docs/rules/workflow.md)."""

from typing import Literal

from ioopt.problems import base


class ReplayOptions(base.Lean):
    """What a replay may do beyond the rules, each off unless asked for.

    ``sources``: files come from the ``lowest`` node that has them, or the ``least-loaded`` source
    (workflow rule 23). ``evacuate``: what is at risk goes to a node with room rather than over the
    link (workflow rule 24). ``saves`` of what is to be kept start ``soon``, or are ``deferred``
    while the link brings files (workflow rule 25).
    """

    LATER = frozenset({"sources", "evacuate", "saves"})
    sources: Literal["lowest", "least-loaded"] = "lowest"
    evacuate: bool = False
    saves: Literal["soon", "deferred"] = "soon"

    def options(self) -> base.Json:
        """The options alone, by name."""
        return {name: getattr(self, name) for name in ReplayOptions.model_fields}


class DispatchOptions(ReplayOptions):
    """The same where a dispatcher decides: a task may ``overtake`` one that is staging (workflow rule 21)."""

    LATER = ReplayOptions.LATER | {"overtake"}
    overtake: bool = False


RULES = DispatchOptions()
"""The rules as they stand."""
