"""The tasks of a JDL: their parameters, and their names, which are the first words of the parameters.

There may be a million of them, so the module keeps as little as possible in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import overload

import msgspec

from batprotocol.campaigns.jdl.cigri2 import lines_of, unreadable
from batprotocol.campaigns.jdl.cigri3 import Jdl
from batprotocol.errors import InputError, JdlError, shown

__all__ = ["MAX_TASKS", "Counting", "as_text", "names_of", "parameters_of", "params_as_json", "text_of"]

MAX_TASKS = 1_000_000
"""The greatest number of tasks, so that a mistake does not fill the store."""

PIECE = 10_000
"""How many texts are written as JSON at a time."""


class Counting(Sequence[str]):
    """Numbers as the parameters of tasks. Each text is made when it is read.

    Args:
        numbers: the numbers.
    """

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        found = self._numbers[place]
        return Counting(found) if isinstance(found, range) else str(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def parameters_of(jdl: Jdl, read_file: Callable[[str], str] | None, *, blocks: bool) -> Sequence[str]:
    """The parameters of all tasks, by `params`, else by `nb_jobs`, else by `param_file`; in blocks first by a file."""
    found: Sequence[str]
    if jdl.get("params") not in (None, False):
        given = jdl["params"]
        if not isinstance(given, list) or any(isinstance(each, list | dict) for each in given):
            raise JdlError("expected a list of texts", "params")
        found = ["" if each is None else as_text(each) for each in given]
    elif blocks and jdl.get("param_file") is not None:
        try:
            found = lines_of(_read(text_of("param_file", jdl["param_file"]), read_file))
        except JdlError:
            if jdl.get("nb_jobs") is None:
                raise JdlError(unreadable(jdl["param_file"]), "param_file") from None
            found = _numbered(jdl["nb_jobs"])
    elif jdl.get("nb_jobs") is not None:
        found = _numbered(jdl["nb_jobs"])
    else:
        text = _read(text_of("param_file", jdl.get("param_file")), read_file)
        found = [line.strip() for line in text.removesuffix("\n").split("\n")] if text else []
    if len(found) > MAX_TASKS:
        raise JdlError(f"a campaign has at most {MAX_TASKS} tasks: submit several campaigns")
    if isinstance(found, Counting):
        return found
    hashes = sorted(map(hash, _names(found)))  # a million names would need much more memory
    if any(one == other for one, other in pairwise(hashes)):
        _refuse_twins(found)
    return tuple(found)


def _refuse_twins(parameters: Iterable[str]) -> None:
    seen: set[str] = set()
    for place, name in enumerate(_names(parameters)):
        if name in seen:
            raise JdlError(
                f"two tasks have the name {shown(name)}: use different first words",
                f"params[{place}]",
                code=-4,
            )
        seen.add(name)


def _numbered(number: object) -> Counting:
    """The parameters for `nb_jobs` tasks."""
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise JdlError(f"expected a number, found {shown(number)}", "nb_jobs")
    if number < 0:
        raise JdlError(f"expected a number of tasks, 0 or more, found {shown(number)}", "nb_jobs")
    return Counting(range(math.ceil(min(number, MAX_TASKS + 1))))


def _read(path: str, read_file: Callable[[str], str] | None) -> str:
    try:
        if read_file is not None:
            return read_file(path)
    except InputError:  # it has the reason
        raise
    except (OSError, ValueError):
        pass
    raise JdlError(f"Parameter file '{path}' is not readable", "param_file")


def names_of(parameters: Iterable[str]) -> list[str]:
    """The names of tasks: the first word of their parameters.

    >>> names_of(["one 1 2", ""])
    ['one', '']
    """
    return list(_names(parameters))


def _names(parameters: Iterable[str]) -> Iterator[str]:
    return (each.split(maxsplit=1)[0] if each.strip() else "" for each in parameters)


def text_of(path: str, value: object) -> str:
    """The value if it is a text, else a JdlError with that path."""
    if not isinstance(value, str):
        raise JdlError(f"expected a text, found {shown(value)}", path)
    return value


def as_text(value: object) -> str:
    """A scalar of JSON as a text for the tables."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def params_as_json(parameters: Sequence[str]) -> str:
    """The parameters as a list in JSON, made in pieces.

    >>> params_as_json(Counting(range(2)))
    '["0","1"]'
    """
    pieces = (parameters[begin : begin + PIECE] for begin in range(0, len(parameters), PIECE))
    return f"[{','.join(msgspec.json.encode(list(piece)).decode()[1:-1] for piece in pieces)}]"
