"""Formulations of mathematical programs; backends in ``solvers`` solve them."""
