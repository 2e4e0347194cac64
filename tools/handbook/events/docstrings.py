"""The text of docstrings: the description of a class, the meaning of its fields and of the members of an enum."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, Final

from batprotocol.model import enums
from handbook.markdown import capitalised

__all__ = ["assigned", "members", "said", "sentence"]

_END: Final = re.compile(r"^(?:Args:|>>>)", re.MULTILINE)
_SPEAKER: Final = re.compile(r"^(Batsim|Decision component): ")


def said(kind: type[Any]) -> str:
    """The docstring of a class before its arguments and examples, in one line."""
    return " ".join(_END.split(inspect.getdoc(kind) or "", maxsplit=1)[0].split())


def sentence(kind: type[Any]) -> str:
    """The same for an event, without its sender."""
    return capitalised(_SPEAKER.sub("", said(kind)))


def assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The names that statements assign, each with the text below it, as in the source, or ""."""
    for statement, below in zip_longest(body, body[1:]):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name), *_]) | ast.AnnAssign(target=ast.Name(id=name)):
                match below:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield name, text
                    case _:
                        yield name, ""


@cache
def _members() -> Mapping[str, Mapping[str, str]]:
    return {
        each.name: {name: " ".join(text.split()) for name, text in assigned(each.body) if text}
        for each in ast.parse(inspect.getsource(enums)).body
        if isinstance(each, ast.ClassDef)
    }


def members(enum: str) -> Mapping[str, str]:
    """The meaning of each member of an enum that has a docstring."""
    return _members().get(enum, {})
