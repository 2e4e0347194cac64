"""The formulas of performance models: `iterations*(num_nodes/base_nodes)`. It must not know what they compute."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Final

__all__ = ["value_of"]

_LONGEST: Final = 1_000
_OPERATORS: Final[dict[type, Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: math.fmod,
    ast.Pow: math.pow,
}
_FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}


def value_of(formula: str, variables: Mapping[str, float]) -> float:
    """The value of a formula.

    Args:
        formula: numbers, variables, + - * / % ^, parentheses, and functions such as `max(a, b)`.
        variables: the values of variables.

    Raises:
        ValueError: the formula has something else, or no finite value.

    >>> value_of("iterations*(num_nodes/base)^2", {"iterations": 10, "num_nodes": 4, "base": 2})
    40.0
    """
    if len(formula) > _LONGEST:
        raise ValueError("the formula is too long")
    try:
        tree = ast.parse(formula.strip().replace("^", "**"), mode="eval")
        value = _value(tree.body, variables)
    except (SyntaxError, ArithmeticError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from None
    if not math.isfinite(value):
        raise ValueError("the formula has no finite value")
    return value


def _value(node: ast.expr, variables: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id in variables:
        return float(variables[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.left, variables), _value(node.right, variables)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand, variables)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and not node.keywords:
        function = _FUNCTIONS.get(node.func.id)
        if function is not None:
            return float(function(*(_value(each, variables) for each in node.args)))
    raise ValueError("the formula has a part that is not understood")
