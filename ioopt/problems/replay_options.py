"""What replays of the replication family may do beyond the rules (docs/rules/workflow.md)."""

from typing import Literal

from ioopt.problems import base


class ReplayOptions(base.Lean):
    """What a replay may do beyond the rules, off unless asked for.

    ``sources``: files come from the ``lowest`` node that has them, or the ``least-loaded`` source
    (workflow rule 22).
    """

    LATER = frozenset({"sources"})
    sources: Literal["lowest", "least-loaded"] = "lowest"

    def options(self) -> base.Json:
        """The options alone, by name."""
        return {name: getattr(self, name) for name in ReplayOptions.model_fields}


RULES = ReplayOptions()
"""The rules as they stand."""
