"""Required values of a quantity: "20 ms", ">= 5 MB", "8 Mbit/s to 9.5 Mbit/s", "none", "reno"."""

from __future__ import annotations

import math
import re
from ipaddress import IPv4Address
from typing import Any, NamedTuple

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError, UsageError, unknown
from tcptutor.spec.parameters import ALGORITHMS, read_sysctl

_RELATIVE = 0.01
"""Relative tolerance of an exact value: the kernel rounds, and typos are larger."""
_LEAST = {"time": 1e-6, "rate": 1.0, "size": 0.5, "ratio": 1e-7}
"""Absolute tolerance around zero, in base units."""
_COMPARED = re.compile(r"(?P<how>>=|<=|>|<)\s*(?P<value>.+)")
_BETWEEN = re.compile(r"\sto\s")
NONE = "none"
"""Word for a quantity that must be absent, such as a rate."""


class Wanted(NamedTuple):
    """Required value, range, or set of words, built by `read_wanted`."""

    text: str
    """As in the lesson file."""
    kind: str
    low: float = -math.inf
    high: float = math.inf
    """Both bounds are included."""
    words: tuple[str, ...] = ()
    """Accepted names; `none` accepts an absent quantity."""

    @property
    def is_named(self) -> bool:
        """True if names are required."""
        return bool(self.words) and self.words != (NONE,)

    def holds(self, value: Any) -> bool:
        """Return True if `value`, in base units or a word, satisfies it; None is an absent quantity."""
        if value is None:
            return NONE in self.words
        if isinstance(value, str):
            return value in self.words
        return not self.words and self.low <= value <= self.high

    def excludes(self, other: Wanted) -> bool:
        """Return True if no value satisfies both."""
        if self.words or other.words:
            return not set(self.words) & set(other.words)
        return self.high < other.low or other.high < self.low


def read_wanted(value: object, kind: str, choices: tuple[str, ...] = ()) -> Wanted:
    """Parse the required value of a quantity of `kind`.

    Args:
        value: Value from the lesson file.
        kind: units.Kind, `algorithm`, `sysctl` or `address`.
        choices: Allowed names of a `name`.

    Raises:
        UsageError: The value is invalid.
    """
    if isinstance(value, list):
        if kind not in ("algorithm", "name") or not value:
            raise UsageError("must be one value, not a list: only names may be a list")
        words = tuple(word for each in value for word in read_wanted(each, kind, choices).words)
        return Wanted(" or ".join(words), kind, words=words)
    text = ("on" if value else "off") if isinstance(value, bool) else str(value).strip()
    if kind in ("sysctl", "algorithm", "name", "address"):
        return Wanted(text, kind, words=(_word(text, kind, choices),))
    return _bounds(text, kind)


def _word(text: str, kind: str, choices: tuple[str, ...]) -> str:
    if kind == "sysctl":
        try:
            return read_sysctl("it", text)
        except ParameterError as error:
            raise UsageError(str(error).removeprefix("it: ")) from None
    if kind == "address":
        try:
            return " ".join(str(IPv4Address(each)) for each in text.split())
        except ValueError:
            raise UsageError(
                f"{text!r} is not an address: write 10.0.0.2, and separate several with spaces"
            ) from None
    known, what = (ALGORITHMS, "congestion control") if kind == "algorithm" else (choices, "such value")
    if text not in known:
        raise UsageError(unknown(what, text, known))
    return text


def _bounds(text: str, kind: str) -> Wanted:
    if text == NONE:
        return Wanted(text, kind, words=(NONE,))
    if found := _COMPARED.fullmatch(text):
        bound, how = _number(found["value"], kind), found["how"]
        if how.startswith(">"):
            return Wanted(text, kind, low=bound if how == ">=" else math.nextafter(bound, math.inf))
        return Wanted(text, kind, high=bound if how == "<=" else math.nextafter(bound, -math.inf))
    if len(both := _BETWEEN.split(text, maxsplit=1)) == 2:
        low, high = (_number(each.strip(), kind) for each in both)
        if low >= high:
            raise UsageError(f"{text!r} is an empty range: write the lower bound first")
        return Wanted(text, kind, low, high)
    exact = _number(text, kind)
    slack = 0.0 if kind == "count" else max(abs(exact) * _RELATIVE, _LEAST.get(kind, 0.0))
    return Wanted(text, kind, exact - slack, exact + slack)


def _number(text: str, kind: str) -> float:
    try:
        return units.parse(text, kind)
    except UnitError as error:
        raise UsageError(f"{error}; a range is written '8 ms to 12 ms', a bound '>= 8 ms'") from None
