"""List the packages, also where git made no symbolic links.

``ioopt/models``, ``solvers`` and ``instances`` are links to the folders at the top.
Where links cannot be (``core.symlinks=false``, an archive unpacked without them) they
are text files or missing, and the folders themselves are packed.
"""

from pathlib import Path

from setuptools import find_namespace_packages, find_packages, setup

rooms = ("models", "solvers", "instances")
lost = [room for room in rooms if not Path("ioopt", room).is_dir()]
place = "ioopt/instances"
if "instances" in lost:
    place = "instances"
packages = ["ioopt", "ioopt.instances", *find_packages(include=["ioopt.*"])]
for name in find_packages(include=["models*", "solvers*"]):
    packages.append(f"ioopt.{name}")
for name in find_namespace_packages(place, exclude=["*.sources"]):
    packages.append(f"ioopt.instances.{name}")
setup(
    packages=packages,
    package_dir={f"ioopt.{room}": room for room in lost},
)
