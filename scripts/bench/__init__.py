"""Benchmarks; ``python scripts/bench.py`` lists them."""
