"""Benchmarks; the command ``python scripts/bench.py`` lists them."""
