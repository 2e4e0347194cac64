"""Admission rules: Python functions in a file, which see each JDL before it is submitted, and may rewrite or refuse it.

    def no_more_than_a_day(jdl, user):
        for cluster in jdl["clusters"].values():
            if cluster["walltime"] > "24:00:00":
                raise ValueError("a job may run for 24 hours")

Each function that the file defines is a rule, but for those whose name begins with `_`; they come in the order of the
file. A rule is given the expanded JDL, a dict, and the user's name. It may change the dict or return another one; what
it raises refuses the campaign. The file is the administrator's own code, and may do whatever Python can.
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
        """The JDL as the rules leave it.

        Raises:
            JdlError: a rule refuses it; the error's `rule` is its name.
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
                raise JdlError(f"the admission rule {name} made no JDL of it, but {shown(jdl)}", rule=name)
        return jdl


def load_rules(source: str, file: str = "rules") -> Rules:
    """The admission rules of a Python file.

    Args:
        source: the text of the file; it is executed.
        file: its name, for errors.

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
