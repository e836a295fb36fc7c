"""What pyproject.toml cannot say: where the packages are when git made no symbolic links.

``ioopt/models``, ``solvers`` and ``instances`` are links to the folders at the top. Where links cannot
be (``core.symlinks=false``, an archive unpacked without them) they are text files or missing, and the
folders themselves are packed.
"""

from pathlib import Path

from setuptools import find_packages, setup

lost = [room for room in ("models", "solvers", "instances") if not Path("ioopt", room).is_dir()]
found = [name for room in lost for name in find_packages(include=[f"{room}.*"])]
setup(
    packages=[
        *find_packages(include=["ioopt", "ioopt.*"]),
        *(f"ioopt.{name}" for name in [*lost, *found]),
    ],
    package_dir={f"ioopt.{room}": room for room in lost},
)
