"""What a quota on a work directory costs, and what to set so that a run keeps it."""
