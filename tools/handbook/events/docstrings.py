"""What docstrings say: what a class is, what each of its fields means, what each member of an enum is."""

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
    """What a class's docstring says before it comes to arguments or examples, in one line."""
    return " ".join(_END.split(inspect.getdoc(kind) or "", maxsplit=1)[0].split())


def sentence(kind: type[Any]) -> str:
    """The same of an event, without who says it."""
    return capitalised(_SPEAKER.sub("", said(kind)))


def assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The names that statements give something, each with the text below, as it is in the source, "" without one."""
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
    """What each member of an enum means, of those that say so."""
    return _members().get(enum, {})
