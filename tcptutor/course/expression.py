"""Arithmetic in lesson files: "window * 8 / rtt", over quantities in their base units. Nothing else can be written."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from tcptutor.base.errors import UsageError, unknown

OPERATORS: Mapping[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "log2": math.log2,
    "ceil": math.ceil,
    "floor": math.floor,
}
_LONGEST = 200
"""Characters. Deep nesting could exhaust the parser, and nobody would read it."""

_WRITTEN = re.compile(r"[\w\s.+\-*/(),]*")
"""All that arithmetic is written with: no quotes, and nothing that Python would warn of."""
_RUN_TOGETHER = re.compile(r"(?<![\w.])(?:[0-9]+\.?[0-9]*+|\.[0-9]+)(?:[eE][+-]?[0-9]++)?+(?=[^\W0-9])")
"""A number that a letter follows: Python warns of some, and takes others for numbers to another base."""


class Expression:
    """One expression, read. Raises UsageError for what is no arithmetic."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._root = _parsed(text)
        self.names = frozenset(
            node.id
            for node in ast.walk(self._root)
            if isinstance(node, ast.Name) and node.id not in FUNCTIONS
        )
        """The quantities that it needs."""

    def check(self, known: Iterable[str]) -> None:
        """Raises UsageError for a name that is not among those."""
        known = tuple(known)
        for name in sorted(self.names - set(known)):
            raise UsageError(f"{self.text!r}: {unknown('name', name, known)}")

    def value(self, quantities: Mapping[str, float]) -> float:
        """Raises UsageError where it has no finite value, such as for a division by zero."""
        try:
            value = float(_value(self._root, quantities))
        except KeyError as error:
            raise UsageError(f"{self.text!r}: nothing is drawn as {error}") from None
        except (ArithmeticError, ValueError, TypeError) as error:
            raise UsageError(f"{self.text!r} cannot be worked out: {error}") from None
        if not math.isfinite(value):
            raise UsageError(f"{self.text!r} is not finite")
        return value


@lru_cache(maxsize=1024)
def expression(text: str) -> Expression:
    """The expression `text`; each is read once. Raises UsageError."""
    return Expression(text)


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise UsageError(f"an expression of {len(text)} characters, at most {_LONGEST}: make it simpler")
    example = "'window * 8 / rtt'"
    unreadable = UsageError(f"{text!r} is no expression: write arithmetic like {example}")
    if not _WRITTEN.fullmatch(text) or _RUN_TOGETHER.search(text):
        raise unreadable
    try:
        root = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise unreadable from None
    _check(root, text)
    return root


def _check(node: ast.expr, text: str) -> None:
    """Only numbers, names, operators and the functions."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return
        case ast.Name(id=name) if name not in FUNCTIONS:
            return
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            parts = [left, right]
        case ast.UnaryOp(op, operand) if type(op) in OPERATORS:
            parts = [operand]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
            parts = args
        case _:
            written = ast.get_source_segment(text.strip(), node) or text
            raise UsageError(f"{written!r} is not allowed: write + - * / ** and {', '.join(FUNCTIONS)}")
    for part in parts:
        _check(part, text)


def _value(node: ast.expr, quantities: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]  # a whole number to the power of one could fill the memory
        case ast.Name(id=name):
            return quantities[name]
        case ast.BinOp(left, op, right):
            return OPERATORS[type(op)](_value(left, quantities), _value(right, quantities))
        case ast.UnaryOp(op, operand):
            return OPERATORS[type(op)](_value(operand, quantities))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_value(arg, quantities) for arg in args))
    raise AssertionError("was checked")  # pragma: no cover
