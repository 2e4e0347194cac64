"""What docstrings say: what a class is, what each of its fields means, what each member of an enum is."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Final

from batprotocol import model
from batprotocol.cli.reference.told import meanings
from batprotocol.model import enums
from handbook.markdown import capitalised

__all__ = ["meanings", "members", "said", "sentence"]

_END: Final = re.compile(r"^(?:Args:|>>>)", re.MULTILINE)
_SPEAKER: Final = re.compile(r"^(Batsim|Decision component): ")


def said(kind: type[Any]) -> str:
    """What a class's docstring says before it comes to arguments or examples, in one line."""
    return " ".join(_END.split(inspect.getdoc(kind) or "", maxsplit=1)[0].split())


def sentence(kind: type[Any]) -> str:
    """The same of an event, without who says it."""
    return capitalised(_SPEAKER.sub("", said(kind)))


@cache
def _members() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for each in ast.parse(inspect.getsource(enums)).body:
        if isinstance(each, ast.ClassDef) and issubclass(getattr(enums, each.name), model.ProtocolEnum):
            told = found[each.name] = {}
            for member, text in pairwise(each.body):
                match member, text:
                    case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(said_of))):
                        told[name] = " ".join(said_of.split())
    return found


def members(enum: str) -> Mapping[str, str]:
    """What each member of an enum means, of those that say so."""
    return _members().get(enum, {})
