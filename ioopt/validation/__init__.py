"""Compare replays with recorded runs of workflows, and foretell what plans save."""
