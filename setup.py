"""List the packages, also where git made no symbolic links, and compile the kernels.

``ioopt/models``, ``solvers`` and ``instances`` are links to the folders at the top.
Where links cannot be (``core.symlinks=false``, an archive unpacked without them) they
are text files or missing, and the folders themselves are packed.

The kernels are C without Python's headers; ctypes loads the library. Without a C
compiler the installation succeeds, and the kernels run as plain Python. With
IOOPT_NEED_KERNELS set, as for a release, it fails.
"""

import os
from pathlib import Path

from setuptools import Extension, find_namespace_packages, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext


class BuildKernels(build_ext):
    """Compile the kernels into a library whose name is the same on every system."""

    def get_ext_filename(self, ext_name: str) -> str:
        """Return the path of the library."""
        return str(Path(*ext_name.split(".")).with_suffix(".so"))

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """Return no symbols: the C text says what is exported."""
        return []

    def build_extension(self, ext: Extension) -> None:
        """Compile with options that keep Python's arithmetic."""
        ext.extra_compile_args = ["/O2", "/fp:precise"]
        if self.compiler.compiler_type != "msvc":
            ext.extra_compile_args = [
                "-O2",
                "-g0",
                "-fwrapv",
                "-ffp-contract=off",
                "-fvisibility=hidden",
            ]
            ext.libraries = ["m"]
        super().build_extension(ext)


class AnyPython(bdist_wheel):
    """The library does not depend on the version of Python, only on the system."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag of the wheel."""
        return "py3", "none", super().get_tag()[2]


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
    ext_modules=[
        Extension(
            "ioopt.compiled.kernels",
            ["ioopt/compiled/kernels.c"],
            optional=not os.environ.get("IOOPT_NEED_KERNELS"),
        )
    ],
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": AnyPython},
)
