"""Constructive heuristics, which plan in one pass without search."""
