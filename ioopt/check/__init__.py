"""Independent checkers: each imports only the problem and recomputes what a plan claims."""
