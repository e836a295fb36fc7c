"""Backends that run programs, a module each: PuLP, MathOpt, CP-SAT and scipy."""
