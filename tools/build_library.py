"""The step of the build that gives the library for Batsim its name.

It is compiled like an extension module, but it is none: with the name of one, all that looks for modules would try to
import it. And as it serves every version of Python, its name has none.
"""

from __future__ import annotations

from setuptools.command.build_ext import build_ext

__all__ = ["BuildExtensions"]

MODULE = "_library"
FILE = "libscheduler.so.0"


class BuildExtensions(build_ext):
    """Extension modules as ever, and the library."""

    def get_ext_filename(self, fullname: str) -> str:
        """The path of what is made of an extension, whose name may come without that of its package."""
        path: str = super().get_ext_filename(fullname)
        folder, dot, name = fullname.rpartition(".")
        return f"{folder.replace('.', '/')}{'/' if dot else ''}{FILE}" if name == MODULE else path
