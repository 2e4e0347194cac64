"""Errors without the values of files: an assistant reads the place and what was expected, and no byte of a file.

Any file can be given to any reader, also one with a password, and errors of readers quote what they found. So this
module asks no reader: an error keeps the words that the library itself is written with and those of the call, and loses
all others.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import sysconfig
import zoneinfo
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple
from xml.parsers import expat

__all__ = [
    "Folder",
    "Places",
    "is_in",
    "places_of",
    "without_values",
]


_LEFT_OUT: Final = "..."
_WORD: Final = re.compile(r"\w+")
_RUN: Final = re.compile(r"""(\s*)('[^'\n]*'|"[^"\n]*"|[^\s'"]+|['"])""")
"""A quoted text, or a text between two spaces: it stays, or is left out, as a whole."""
_PLACES: Final = ("line", "column", "byte", "row", "message", "event", "status")
"""The words before a number that is a place or a status."""
_FOUND: Final = ("got", "found")
_VALUES: Final = "'\"[{(+-.0123456789"
"""The words before values of a file, and how such values begin. They end with a semicolon, or with the line."""
_SHORT_NUMBER: Final = 3
_OF_OTHERS: Final = ("json", "tomllib", "tomli", "xml.etree", "importlib")
"""Packages whose errors readers pass on, besides those of the system and of expat."""


def without_values(text: str, call: Iterable[str] = ()) -> str:
    """An error without the values of files.

    Args:
        text: the error.
        call: the words that the caller gave, which the error can repeat.

    >>> without_values("log.swf:3: expected a number, got 'hunter-2'", ["log.swf"])
    "log.swf:3: expected a number, got '...'"
    """
    given = {word.lower() for each in call for word in _WORD.findall(each)}
    known = _vocabulary() | given
    kept: list[str] = []
    end, before, are_values = 0, "", False
    for run in _RUN.finditer(text):
        space, found = run.groups()
        are_values = (are_values and "\n" not in space) or (before in _FOUND and found[0] in _VALUES)
        told = found if _is_told(found, given if are_values else known, before, are_values) else _without(found)
        kept += [text[end : run.start()], space, told]
        end, before = run.end(), found
        are_values = are_values and not found.endswith(";")
    return "".join(kept) + text[end:]


def _is_told(found: str, known: AbstractSet[str], before: str, are_values: bool) -> bool:
    """Whether all words of a run are known, or are short numbers or places."""
    for word in _WORD.finditer(found):
        if word[0].lower() not in known:
            if are_values or not word[0].isdecimal():
                return False
            start = word.start()
            is_place = re.fullmatch(r"\w\[", found[max(start - 2, 0) : start]) if start else before in _PLACES
            if len(word[0]) > _SHORT_NUMBER and not is_place:
                return False
    return True


def _without(found: str) -> str:
    if found[0] in "'\"":
        return f"{found[0]}{_LEFT_OUT}{found[0]}"
    return _LEFT_OUT + found[len(found.rstrip(":,;.)]}")) :]


@cache
def _vocabulary() -> frozenset[str]:
    """The words in the sources of this library, and in the errors of others that it passes on."""
    texts = [os.strerror(number) for number in errno.errorcode]
    texts += [expat.ErrorString(number) or "" for number in expat.errors.messages]
    for package in ("batprotocol", *_OF_OTHERS):
        with suppress(ModuleNotFoundError):  # which of the two for TOML there is depends on the version of Python
            texts += _sources(files(package))
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


def _sources(place: Any) -> Iterable[str]:
    for each in place.iterdir():
        if each.is_dir():
            yield from _sources(each)
        elif each.name.endswith(".py"):
            yield each.read_text("utf-8")


# The files that the commands of tools can use: those of one folder and, for reading only, those of Python.


_SYSTEM: Final = ("/etc/localtime", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/urandom", "/dev/zero")
_LIBRARIES: Final = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path"),
)
"""The loader of the system reads these for the libraries of Python's packages."""


class Folder:
    """A folder, found once and held open: it stays the same if it is moved, or if links to it change.

    Args:
        path: its path. A relative one is relative to the current folder at this moment.

    Raises:
        OSError: there is no such folder.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path, strict=True)
        """Its path without links."""
        self.descriptor = -1
        """An open descriptor of it; -1 on systems that cannot open folders."""
        if hasattr(os, "fchdir"):
            self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_PATH", 0))

    def __del__(self) -> None:
        if getattr(self, "descriptor", -1) >= 0:
            os.close(self.descriptor)

    def keep(self, name: str, data: bytes) -> None:
        """Write a file into the folder, unless it has a file of that name. No link is followed.

        Raises:
            OSError: it cannot be written.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        where = {"dir_fd": self.descriptor} if self.descriptor >= 0 else {}
        path = name if where else os.path.join(self.path, name)
        with suppress(FileExistsError):
            descriptor = os.open(path, flags, 0o666, **where)
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
            except BaseException:
                os.unlink(path, **where)
                raise


class Places(NamedTuple):
    """The files that a process can use. All paths are absolute, and without links.

    Args:
        folder: the folder whose files it reads and writes.
        scratch: the folder for temporary files.
        python: files and folders with the modules of Python and its packages. They can be read, also where they lie in
            `folder`, and not be written.
        system: other files and folders that can be read.
        libraries: files and folders that the loader of the system reads, and Python code does not.
    """

    folder: str
    scratch: str
    python: tuple[str, ...]
    system: tuple[str, ...]
    libraries: tuple[str, ...]


def places_of(folder: str, scratch: str) -> Places:
    """What this process needs to run commands on a folder.

    It leaves out folders of `sys.path` that have the folder in them: else all files beside the folder could be read.

    Args:
        folder: the folder.
        scratch: the folder for temporary files.
    """
    own = os.path.realpath(folder)
    paths = sysconfig.get_paths()
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    python = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    python += [package, sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")]
    python += [each for each in sys.path if each and not is_in(own, (os.path.realpath(each),))]
    libraries = [*_LIBRARIES, *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep), *_folders_of_libraries()]
    return Places(
        own,
        os.path.realpath(scratch),
        _real(python),
        _real([*_SYSTEM, *zoneinfo.TZPATH]),
        tuple(each for each in _real(libraries) if not is_in(own, (each,))),
    )


def is_in(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these folders or files, or beneath one. None of the paths has links.

    >>> is_in("/a/b", ["/a"]), is_in("/a", ["/a"]), is_in("/ab", ["/a"])
    (True, True, False)
    """
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def _folders_of_libraries() -> set[str]:
    """The folders of the libraries that are loaded now, where the system lists them."""
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        names = {line.rstrip("\n").split(None, 5)[-1] for line in lines}
        return {os.path.dirname(name) for name in names if name.startswith("/") and ".so" in os.path.basename(name)}
    return set()


def _real(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths without links and repetitions, of those that exist. None is the root of all files."""
    real = (os.path.realpath(each) for each in paths if each)
    return tuple(dict.fromkeys(each for each in real if os.path.dirname(each) != each and os.path.exists(each)))
