"""Import the Python layer of CP-SAT without pandas, which takes longer than the rest.

CP-SAT's ``cp_model`` uses pandas only for its series of variables, which ioopt does not
make. They still work afterwards: pandas is then imported when it is needed.
"""

import sys
import threading
from importlib import import_module
from types import ModuleType
from typing import Any

CP_MODEL = "ortools.sat.python.cp_model"


class LaterPandas(ModuleType):
    """A stand-in for the module pandas that imports it on the first use.

    While ``cp_model`` is imported, ``Index`` and ``Series`` are placeholders, because
    ``cp_model`` names them in annotations.
    """

    def __init__(self) -> None:
        super().__init__("pandas")
        self.__dict__.update(dict.fromkeys(("Index", "Series"), object))

    def forget_placeholders(self) -> None:
        """Let ``Index`` and ``Series`` be those of pandas from now on."""
        del self.__dict__["Index"]
        del self.__dict__["Series"]

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of pandas, which is imported for it."""
        return getattr(import_module("pandas"), name)


def may_import_without_pandas() -> bool:
    """Return whether neither pandas nor ``cp_model`` is imported yet, and no other
    thread could meet the stand-in.
    """
    known = "pandas" in sys.modules or CP_MODEL in sys.modules
    return not known and threading.active_count() == 1


def cp_model_without_pandas() -> Any:
    """Import and return ``cp_model``, for which pandas is a stand-in."""
    later = LaterPandas()
    sys.modules["pandas"] = later
    try:
        cp_model = import_module(CP_MODEL)
    finally:
        del sys.modules["pandas"]
        later.forget_placeholders()
    return cp_model
