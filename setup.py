"""What pyproject.toml cannot say: where the packages are when git
made no symbolic links.

``ioopt/models``, ``solvers`` and ``instances`` are links to the folders at the top.
Where links cannot be (``core.symlinks=false``, an archive unpacked without them) they
are text files or missing, and the folders themselves are packed.
"""

from pathlib import Path

from setuptools import find_namespace_packages, find_packages, setup

rooms = ("models", "solvers", "instances")
lost = [room for room in rooms if not Path("ioopt", room).is_dir()]
code = [
    *find_packages(include=["ioopt.*"]),
    *find_packages(include=["models*", "solvers*"]),
]
place = "instances" if "instances" in lost else "ioopt/instances"
data = find_namespace_packages(place, exclude=["*.sources"])
setup(
    packages=[
        "ioopt",
        "ioopt.instances",
        *(name if name.startswith("ioopt.") else f"ioopt.{name}" for name in code),
        *(f"ioopt.instances.{name}" for name in data),
    ],
    package_dir={f"ioopt.{room}": room for room in lost},
)
