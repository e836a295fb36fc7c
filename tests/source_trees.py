"""Syntax trees of the project's sources, parsed once in each test process."""

import ast
from functools import cache
from pathlib import Path

ATTEMPTS = 5


@cache
def parse(source: str) -> ast.Module:
    """Parse the text of one module.

    In Python 3.11, all threads share one counter of the parser's recursion depth. A
    thread that prints a traceback meanwhile (as Dask's do) moves the counter, and the
    parser raises SystemError for a correct text: parse again.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


def syntax_tree(path: Path) -> ast.Module:
    """Parse the file at *path*."""
    return parse(path.read_text("utf-8"))
