"""What pyproject.toml cannot say: that wheels hold compiled modules (tools/compiled.py), and the name of a file."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).resolve().parent / "tools"))

from compiled import extensions, is_wanted

LIBRARY = "_library"
"""What Batsim loads. With the name of an extension module, all that looks for modules would try to import it; and as it
serves every version of Python, its name has none."""
LIBRARY_FILE = "libscheduler.so.0"


class BuildExtensions(build_ext):
    """Compiles what is wanted, besides the extension modules that pyproject.toml lists."""

    def finalize_options(self) -> None:
        if is_wanted(default=False):
            self.distribution.ext_modules = [*(self.distribution.ext_modules or ()), *extensions()]
        super().finalize_options()

    def get_ext_filename(self, fullname: str) -> str:
        """The path of what is made of an extension, whose name may come without that of its package."""
        folder, dot, name = fullname.rpartition(".")
        if name == LIBRARY:
            return f"{folder.replace('.', '/')}{'/' if dot else ''}{LIBRARY_FILE}"
        path: str = super().get_ext_filename(fullname)
        return path


setup(cmdclass={"build_ext": BuildExtensions})
