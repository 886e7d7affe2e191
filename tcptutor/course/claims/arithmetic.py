"""What a page works out in its text: "128 KiB * 8 / 40 ms" in base units (bytes, seconds, bit/s, shares)."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable

from tcptutor import units
from tcptutor.errors import UnitError

_QUANTITY = re.compile(r"\d[\d.]*\s*(?:[kMG]?bit/s|[mµ]?s\b|[kKMG]i?B\b|bytes\b|%)")
_KINDS = ("rate", "time", "size", "ratio")
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_LARGEST_POWER = 8
_FUNCTIONS: dict[str, Callable[..., float]] = {"sqrt": math.sqrt, "log2": math.log2, "min": min, "max": max}


def evaluate(formula: str) -> float:
    """Its value in base units. Raises UnitError for what is none."""
    plain = _QUANTITY.sub(lambda match: repr(_base(match[0])), formula)
    try:
        return float(_value(ast.parse(plain.strip(), mode="eval").body))
    except (SyntaxError, ValueError, TypeError, ArithmeticError):
        raise UnitError(
            f"{formula!r} cannot be worked out: write it like '128 KiB * 8 / 40 ms', with + - * / **,"
            f" {', '.join(_FUNCTIONS)}"
        ) from None


def _base(written: str) -> float:
    for kind in _KINDS:
        try:
            return units.parse(written, kind)
        except UnitError:
            continue
    raise UnitError(f"{written!r} is no quantity")


def _value(node: ast.expr) -> float:
    """Raises ValueError for anything but numbers and what is done with them."""
    match node:
        case ast.Constant(value=float() | int() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            left, right = _value(node.left), _value(node.right)
            if isinstance(node.op, ast.Pow) and abs(right) > _LARGEST_POWER:
                raise ValueError(node)
            return _OPERATORS[type(node.op)](left, right)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(_value, node.args))
        case _:
            raise ValueError(node)
