"""Constructive heuristics: one pass, no search."""
