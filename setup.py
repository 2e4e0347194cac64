"""What pyproject.toml cannot say: that a wheel holds compiled modules, see tools/compiled.py."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).resolve().parent / "tools"))

from compiled import extensions, is_wanted


class BuildExtensions(build_ext):
    """Compiles what is wanted, besides the extension modules that pyproject.toml lists."""

    def finalize_options(self) -> None:
        if is_wanted(default=False):
            self.distribution.ext_modules = [*(self.distribution.ext_modules or ()), *extensions()]
        super().finalize_options()


setup(cmdclass={"build_ext": BuildExtensions})
