"""Problem and plan classes: the one definition of each instance format."""
