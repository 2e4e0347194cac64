"""The parts of the build that pyproject.toml cannot describe.

Wheels have compiled modules (tools/compiled.py), all cores compile, one file has a special name, and no file of an
older build is in a wheel. An editable installation finds the source tree by its path.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

sys.path.insert(0, str(Path(__file__).resolve().parent / "tools"))

from compiled import extensions, is_wanted
from in_place import leave_only

GENERATED = ["batprotocol._schema", "batprotocol.fb"]
STUBS = ["intervaltree-stubs", "procset-stubs", "sortedcontainers-stubs"]
PACKAGES = [*find_packages(include=["batprotocol", "batprotocol.*"]), *GENERATED, *STUBS]
"""All folders of the library, and those that pyproject.toml takes from elsewhere."""

LIBRARY = "_library"
"""The library that Batsim loads. Its name is not that of an extension module, so that no tool tries to import it. The
name has no version of Python, because the library works with all of them."""
LIBRARY_FILE = "libscheduler.so.0"


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print the beginning and the time of a long step, which `pip install -v` shows."""
    print(f"batprotocol: {what}...", flush=True)
    began = time.monotonic()
    yield
    print(f"batprotocol: {what}: done in {time.monotonic() - began:.0f} s", flush=True)


class BuildExtensions(build_ext):
    """Compile the extension modules of pyproject.toml, and those of mypyc if wanted, on all cores."""

    def finalize_options(self) -> None:
        if is_wanted(default=False):
            with timed("mypyc writes C for the rules and the simulator"):
                self.distribution.ext_modules = [*(self.distribution.ext_modules or ()), *extensions()]
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count() or 1

    def run(self) -> None:
        super().run()
        if self.inplace:
            for made, placed in self.get_output_mapping().items():
                if not os.path.exists(made):
                    Path(placed).unlink(missing_ok=True)  # it would be of an older build
        else:
            leave_only(Path(self.build_lib), self.get_outputs(), sysconfig.get_config_var("EXT_SUFFIX"))

    def build_extensions(self) -> None:
        """Compile as many files in parallel as there are cores; setuptools alone does so only with extensions."""
        compile_one = self.compiler.compile
        if self.compiler.compiler_type == "unix":  # the folder of a build is not in what it builds
            for each in self.extensions:
                each.extra_compile_args = [*each.extra_compile_args, f"-ffile-prefix-map={os.getcwd()}=."]
        with ThreadPoolExecutor(int(self.parallel)) as cores:

            def compile_each(sources: list[str], *arguments: Any, **options: Any) -> list[str]:
                each = [cores.submit(compile_one, [source], *arguments, **options) for source in sources]
                return [name for compiled in each for name in compiled.result()]

            self.compiler.compile = compile_each
            with timed(f"compiling {sum(len(each.sources) for each in self.extensions)} files of C"):
                super().build_extensions()

    def get_ext_filename(self, fullname: str) -> str:
        """The path of a compiled extension, whose name may lack that of its package."""
        folder, dot, name = fullname.rpartition(".")
        if name == LIBRARY:
            return f"{folder.replace('.', '/')}{'/' if dot else ''}{LIBRARY_FILE}"
        path: str = super().get_ext_filename(fullname)
        return path


class BuildModules(build_py):
    """Copy the modules, and remove those of an older build."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            leave_only(Path(self.build_lib), self.get_outputs(include_bytecode=False), ".py")


class Editable(editable_wheel):
    """Install the path of the source tree, where the package finds the generated modules without help.

    As they are in another folder, setuptools would install a finder instead. With it, each start of Python takes 20 ms
    longer: twice as long.
    """

    def finalize_options(self) -> None:
        tree, found = self.distribution, Path(__file__).resolve().parent
        tree.package_dir = {"": "."}
        tree.packages = [name for name in tree.packages or () if found.joinpath(*name.split(".")).is_dir()]
        super().finalize_options()


setup(
    packages=PACKAGES,
    cmdclass={"build_ext": BuildExtensions, "build_py": BuildModules, "editable_wheel": Editable},
)
