"""What docstrings say: what a class is, what each of its fields means, what each member of an enum is."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from batprotocol import model
from batprotocol.cli.reference.told import meanings
from batprotocol.model import enums

__all__ = ["meanings", "members", "said", "sentence"]

_END: Final = re.compile(r"^(?:Args:|>>>)", re.MULTILINE)
_SPEAKER: Final = re.compile(r"^(Batsim|Decision component): ")


def said(kind: type[Any]) -> str:
    """What a class's docstring says before it comes to arguments or examples, in one line."""
    return " ".join(_END.split(inspect.getdoc(kind) or "", maxsplit=1)[0].split())


def sentence(kind: type[Any]) -> str:
    """The same of an event, without who says it."""
    text = _SPEAKER.sub("", said(kind))
    return text[:1].upper() + text[1:]


@cache
def _members() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for each in ast.parse(inspect.getsource(enums)).body:
        if isinstance(each, ast.ClassDef) and issubclass(getattr(enums, each.name), model.ProtocolEnum):
            told = found[each.name] = {}
            for member, text in zip(each.body, each.body[1:], strict=False):
                if (
                    isinstance(member, ast.Assign)
                    and isinstance(text, ast.Expr)
                    and isinstance(text.value, ast.Constant)
                ):
                    told[member.targets[0].id] = " ".join(str(text.value.value).split())
    return found


def members(enum: str) -> Mapping[str, str]:
    """What each member of an enum means, of those that say so."""
    return _members().get(enum, {})
