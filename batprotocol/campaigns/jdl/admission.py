"""Admission rules: Python functions in a file. Each gets the JDL before its submission, and may change or refuse it.

    def no_more_than_a_day(jdl, user):
        for cluster in jdl["clusters"].values():
            if cluster["walltime"] > "24:00:00":
                raise ValueError("a job may run for 24 hours")

Each function of the file is a rule, except those whose name begins with `_`. The rules run in the order of the file. A
rule gets the expanded JDL, a dict, and the name of the user. It may change the dict, return another one, or raise an
exception to refuse the campaign. The file is the administrator's code, and may do anything that Python can.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import msgspec

from batprotocol.campaigns.jdl.cigri3 import Jdl
from batprotocol.campaigns.model import Record
from batprotocol.errors import InputError, JdlError, shown

__all__ = ["Rules", "load_rules"]

Rule = Callable[[Jdl, str], Any]


class Rules(Record, frozen=True):
    """The admission rules of a file.

    Args:
        rules: the functions by name, in the order of the file.
    """

    rules: tuple[tuple[str, Rule], ...] = ()

    def admit(self, jdl: Jdl, user: str) -> Jdl:
        """The JDL after all rules.

        Raises:
            JdlError: a rule refuses it; the `rule` of the error is its name.
        """
        for name, rule in self.rules:
            copy = msgspec.json.decode(msgspec.json.encode(jdl))
            try:
                returned = rule(copy, user)
            except Exception as error:
                reason = str(error) or type(error).__name__
                raise JdlError(f"the admission rule {name} refuses it: {reason}", rule=name) from error
            jdl = copy if returned is None else returned
            if not isinstance(jdl, dict) or not isinstance(jdl.get("clusters"), dict):
                raise JdlError(f"the admission rule {name} returned {shown(jdl)}: return a JDL or nothing", rule=name)
        return jdl


def load_rules(source: str, file: str = "rules") -> Rules:
    """The admission rules of a Python file.

    Args:
        source: the text of the file; it is executed.
        file: the name of the file, for errors.

    Raises:
        InputError: it cannot be executed.

    >>> rules = load_rules("def short(jdl, user):\\n    jdl['clusters']['a']['walltime'] = '00:10:00'\\n")
    >>> rules.admit({"clusters": {"a": {"walltime": "99:00:00"}}}, "alice")
    {'clusters': {'a': {'walltime': '00:10:00'}}}
    """
    names: dict[str, Any] = {"__name__": "admission_rules", "__file__": file}
    try:
        tree = ast.parse(source, file)
        exec(compile(tree, file, "exec"), names)
    except SyntaxError as error:
        raise InputError(f"not Python: {error.msg}", file=file, line=error.lineno) from None
    except Exception as error:
        raise InputError(f"cannot be executed: {type(error).__name__}: {error}", file=file) from error
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return Rules(tuple((name, names[name]) for name in dict.fromkeys(defined)))
