"""CP-SAT is imported without pandas, and its series of variables work afterwards."""

import subprocess
import sys

PROGRAM = """
import sys
import ioopt

result = ioopt.solve("cycle3")
assert result.status.value == "optimal"
assert "ortools.sat.python.cp_model" in sys.modules
assert "pandas" not in sys.modules

from ortools.sat.python import cp_model
import pandas

model = cp_model.CpModel()
made = model.new_bool_var_series("x", pandas.Index(["a", "b"]))
assert isinstance(made, pandas.Series) and list(made.index) == ["a", "b"]
try:
    model.new_bool_var_series("x", ["a", "b"])
except TypeError:
    print("refused")
"""

SECOND_THREAD = """
import sys
import threading
from ioopt.solvers.backends.cpsat_program import load_cp_model

ended = threading.Event()
other = threading.Thread(target=ended.wait)
other.start()
load_cp_model()
ended.set()
assert type(sys.modules["pandas"]).__name__ == "module"
print("imported")
"""


def output_of(program):
    """What a fresh Python prints that runs *program*."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_solving_imports_no_pandas_and_series_of_variables_still_work():
    assert output_of(PROGRAM) == ["refused"]


def test_another_thread_never_meets_the_stand_in_for_pandas():
    assert output_of(SECOND_THREAD) == ["imported"]
