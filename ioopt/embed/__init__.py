"""The solvers and policies inside other schedulers."""
