"""Find a user's function by name, in a Python file or in a module."""

import ast
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from ioopt.errors import UsageError
from ioopt.families import SolverSpec, load_target
from ioopt.options import suggest


def find_function(target: str) -> object:
    """Return the object called ``file.py:name`` or ``module:name``.

    The file may import others of its folder, also while its function runs; a module is
    on the import path or in the working folder.
    """
    path, _, name = target.rpartition(":")
    in_file = path.endswith(".py")
    folder = os.path.dirname(os.path.abspath(path)) if in_file else os.getcwd()
    try:
        with _imports_from(folder):
            found = _in_file(path, name) if in_file else load_target(target)
    except (Exception, SystemExit) as error:
        cause = error.__cause__ if isinstance(error, UsageError) else None
        why = error if cause is None else cause
        raise UsageError(
            f"solver {target!r} cannot be loaded: {type(why).__name__}: {why}; "
            "wanted FILE.py:FUNCTION or package.module:function"
        ) from error
    if isinstance(found, SolverSpec) or not callable(found):
        return found
    return _importing(found, folder)


@contextmanager
def _imports_from(folder: str) -> Iterator[None]:
    """Search *folder* last for modules while the block runs."""
    sys.path.append(folder)
    try:
        yield
    finally:
        # Blocks of several threads may overlap: remove the last entry, and one only.
        del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder)]


def _importing(function: Callable[..., object], folder: str) -> Callable[..., object]:
    """Return *function*, which may import modules of *folder* while it runs."""

    @wraps(function)
    def run(*given: object, **named: object) -> object:
        with _imports_from(folder):
            return function(*given, **named)

    return run


def _in_file(path: str, name: str) -> object:
    """Return the object called *name* of the Python file *path*."""
    found = vars(_module_in(path))
    if name not in found:
        functions = [key for key, value in found.items() if inspect.isfunction(value)]
        raise AttributeError(f"{path} has no {name!r}; {suggest(name, functions)}")
    return found[name]


def _module_in(path: str) -> ModuleType:
    """Return the module in the file *path*; the file is read again once it has
    changed.
    """
    file = os.path.abspath(path)
    # A name that no import can have, so that no other module is hidden.
    name = f"{file} of {os.stat(file).st_mtime_ns}"
    if name in sys.modules:
        return sys.modules[name]
    _refuse_namesakes(file)
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _refuse_namesakes(file: str) -> None:
    """Raise ImportError if *file* imports a module that lies beside it, while another
    one of that name is loaded, which the import would silently take.
    """
    folder = os.path.dirname(file)
    with suppress(SyntaxError), open(file, "rb") as stream:
        for name in _imported(ast.parse(stream.read())):
            beside = os.path.join(folder, f"{name}.py")
            loaded = getattr(sys.modules.get(name), "__file__", beside)
            if os.path.isfile(beside) and not _is_same(loaded, beside):
                raise ImportError(
                    f"it imports {name}, and another {name} is loaded already, from "
                    f"{loaded}: rename {beside}"
                )


def _is_same(loaded: str | None, beside: str) -> bool:
    """Return whether a module's file is the file *beside*; built-in modules have no
    file.
    """
    return loaded is not None and os.path.realpath(loaded) == os.path.realpath(beside)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the modules that a file imports, at its top or within."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
