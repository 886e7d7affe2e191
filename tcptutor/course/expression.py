"""Arithmetic in lesson files: "window * 8 / rtt", over quantities in base units, and no other Python."""

from __future__ import annotations

import ast
import math
import operator
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
"""Most characters: deep nesting could exhaust the parser."""


class Expression:
    """Parsed arithmetic expression. Raises UsageError for any other text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._root = _parsed(text)
        self.names = frozenset(
            node.id
            for node in ast.walk(self._root)
            if isinstance(node, ast.Name) and node.id not in FUNCTIONS
        )
        """Quantities the expression uses."""

    def check(self, known: Iterable[str]) -> None:
        """Check that every name is `known`.

        Raises:
            UsageError: A name is unknown.
        """
        known = tuple(known)
        for name in sorted(self.names - set(known)):
            raise UsageError(f"{self.text!r}: {unknown('name', name, known)}")

    def value(self, quantities: Mapping[str, float]) -> float:
        """Evaluate the expression.

        Raises:
            UsageError: The value is not finite, for example after a division by zero.
        """
        try:
            value = float(_value(self._root, quantities))
        except KeyError as error:
            raise UsageError(f"{self.text!r}: no drawn value {error}") from None
        except (ArithmeticError, ValueError, TypeError) as error:
            raise UsageError(f"{self.text!r} cannot be evaluated: {error}") from None
        if not math.isfinite(value):
            raise UsageError(f"{self.text!r} is not finite")
        return value


@lru_cache(maxsize=1024)
def expression(text: str) -> Expression:
    """Parse `text`, with a cache.

    Raises:
        UsageError: The text is not arithmetic.
    """
    return Expression(text)


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise UsageError(f"an expression of {len(text)} characters, at most {_LONGEST}: simplify it")
    example = "'window * 8 / rtt'"
    unreadable = UsageError(f"{text!r} is not an expression: write arithmetic like {example}")
    try:
        root = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise unreadable from None
    _check(root, text)
    return root


def _check(node: ast.expr, text: str) -> None:
    """Allow only numbers, names, operators and the functions."""
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
            return float(value)  # type: ignore[arg-type]  # powers of integers could fill the memory
        case ast.Name(id=name):
            return quantities[name]
        case ast.BinOp(left, op, right):
            return OPERATORS[type(op)](_value(left, quantities), _value(right, quantities))
        case ast.UnaryOp(op, operand):
            return OPERATORS[type(op)](_value(operand, quantities))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_value(arg, quantities) for arg in args))
    raise AssertionError("was checked")  # pragma: no cover
