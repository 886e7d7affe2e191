"""Parsing and formatting of quantities with units: "100 Mbit/s", "20 ms", "0.1 %", "64 KiB", "2 BDP".

Inside the program a quantity is a plain float in its base unit: bit/s, seconds, a probability, bytes. `b` is
bit and `B` is byte: "9 Mb/s" is 9 Mbit/s, "9 MB/s" is 72 Mbit/s, and a size of "8 Mbit" is 1 MB. Decimal
prefixes are powers of 1000, "KiB", "MiB" and so on are powers of 1024. A number may be written out, "1.86
million", and in groups, "1 860 000". Ambiguous input is rejected with a message that lists both meanings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Literal, TypeVar

from tcptutor.base import errors
from tcptutor.base.errors import UnitError

T = TypeVar("T")

UNKNOWN = "–"
"""The display of an unknown figure."""

Kind = Literal["rate", "time", "ratio", "size", "window", "count", "number", "name", "changes", "trace"]

_TIMES = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "us": 1e-6, "µs": 1e-6, "usec": 1e-6, "usecs": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
    "min": 60.0, "minute": 60.0, "minutes": 60.0,
}  # fmt: skip
_RATIOS = {"%": 1e-2, "percent": 1e-2, "‰": 1e-3, "permille": 1e-3}
_PREFIXES = {
    "": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12,
    "ki": 1024.0, "mi": 1024.0**2, "gi": 1024.0**3, "ti": 1024.0**4,
}  # fmt: skip
_POWERS = {"thousand": 3, "million": 6, "mio": 6, "billion": 9, "bn": 9}
"""Powers of ten written as a word after a number."""
_WRITTEN_OUT = re.compile(
    r"(?P<word>thousand|million|mio|billion|bn)(?![a-z])\.?\s*(?P<unit>.*)", re.IGNORECASE | re.DOTALL
)
_LETTERS = {"k": 3, "m": 6, "g": 9}
"""Powers of ten in a count: "12k"."""
_BASE_UNITS = {"rate": "bit/s", "time": "s", "size": "bytes"}
"""The second meaning of a number in words, in a field that shows a larger or smaller unit."""
_CARELESS_PREFIXES = frozenset({"m", "g", "t", "ki", "mi", "gi", "ti"})
"""Prefixes in a case that a careful writer would not use: a "b" after them may mean "B"."""

EXAMPLES = {
    "rate": "42 Mbit/s",
    "time": "15 ms",
    "ratio": "0.3 %",
    "size": "48 KiB",
    "window": "2 BDP",
    "count": "24",
    "number": "2.5",
}
"""An example of each kind for error messages. No lesson uses these values, which would give answers away."""

FIELD_UNITS = {"rate": "Mbit/s", "time": "ms", "ratio": "%", "size": "kB", "count": "", "number": ""}
"""The unit of a plain number in a field that shows its unit."""

_TYPOGRAPHY = str.maketrans(
    {**dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f", " "),
     "−": "-", "\u03bc": "µ", "’": "'"}
)  # fmt: skip
"""Spaces of all widths, the minus sign, the Greek mu and the typographer's apostrophe."""
_QUANTITY = re.compile(
    r"\s*(?P<sign>[+-]?)(?P<digits>[0-9.,]*[0-9](?:[ '][0-9]{3}(?![0-9]))*[.,]?[0-9]*)(?P<power>[eE][+-]?[0-9]+)?"
    r"\s*(?P<unit>[^0-9\s].*?)?\s*",
    re.DOTALL,
)
_PLAIN = re.compile(r"[0-9]+[.,]?[0-9]*|[.,][0-9]+")
_GROUPED = re.compile(r"[0-9]{1,3}(?P<mark>[ ',.])[0-9]{3}(?:(?P=mark)[0-9]{3})*(?:(?!(?P=mark))[.,][0-9]+)?")
_TWO_WAYS = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")
_AMOUNT = re.compile(
    r"(?P<prefix>(?i:[kmgt]i?)?)(?P<what>(?i:bits?|bytes?)|b|B)?(?P<per>(?i:/s|/sec|/second|ps|persec|persecond))?"
)


def split(text: str, kind: str = "rate") -> tuple[float, str]:
    """Split `text` into its number and its unit, without blanks; the unit is "" when missing.

    Raises UnitError, with an example of `kind`, for a text without a number.
    """
    match = _QUANTITY.fullmatch(text.translate(_TYPOGRAPHY))
    digits = _ungrouped(text, match["digits"], kind) if match else None
    if match is None or digits is None:
        raise UnitError(f"{quoted(text)} is not a number with a unit: write it like {EXAMPLES[kind]!r}")
    unit, power = match["unit"] or "", 0
    if written_out := _WRITTEN_OUT.fullmatch(unit):
        unit, power = written_out["unit"], _POWERS[written_out["word"].lower()]
    return _finite(
        _times_power_of_ten(float(f"{match['sign']}{digits}{match['power'] or ''}"), power), text
    ), "".join(unit.split())


def parse(text: str, kind: str, plain: str = "") -> float:
    """Return `text` in the base unit of `kind` (rate: bit/s, time: s, ratio: 1, size: bytes, count and number: 1).

    Args:
        text: A quantity.
        kind: Its kind.
        plain: The default unit, as a field shows it; without a default only a zero needs no unit.

    Raises:
        UnitError: The text is not a number, or its unit is missing, wrong or ambiguous.
    """
    number, unit = split(text, kind)
    if kind in ("count", "number") and unit.lower() in _LETTERS and (kind == "count" or unit != "m"):
        # No whole number is in thousandths: "2m" is 2 million where things are counted.
        number, unit = _finite(_times_power_of_ten(number, _LETTERS[unit.lower()]), text), ""
    if kind == "count":
        if unit or number != int(number):
            raise UnitError(f"{quoted(text)} is not a whole number: write it like {EXAMPLES[kind]!r}")
        return number
    if kind == "number":
        if unit:
            raise UnitError(f"{quoted(text)} has a unit: write a number like {EXAMPLES[kind]!r}")
        return number
    if not unit and number and _power_word(text) and plain != (base := _BASE_UNITS.get(kind, plain)):
        raise _two_meanings(text, f"{text.strip()} {plain}".strip(), f"{text.strip()} {base}")
    unit = unit or plain
    if number == 0 and not unit:
        return 0.0
    return _finite(number * _scale(text, number, unit, kind), text)


def parse_size(text: str, bdp_bytes: float | None = None) -> float:
    """Return a size in bytes from "64 KiB" or a multiple of the bandwidth-delay product, "2 BDP".

    Raises UnitError for "BDP" when `bdp_bytes` is None (the path has no rate or no delay).
    """
    number, unit = split(text, "window")
    if unit.lower() != "bdp":
        return parse(text, "size")
    if bdp_bytes is None:
        raise UnitError(
            f"{quoted(text)}: this path has no rate or no delay, so no BDP: give bytes, like '64 KiB'"
        )
    return _finite(number * bdp_bytes, text)


def is_plain(text: str) -> bool:
    """Return True if `text` is a number without a unit. Raises UnitError if it is not a number."""
    return not split(text)[1]


def plain_reading(text: str, kind: str, plain: str = "") -> str:
    """Return the plain number in `text` if it has digit groups or a power of ten, otherwise "".

    Args:
        text: A quantity that `parse` accepts.
        kind: Its kind.
        plain: The default unit.
    """
    match = _QUANTITY.fullmatch(text.translate(_TYPOGRAPHY))
    if match is None:
        return ""
    digits = match["digits"]
    grouped = not _PLAIN.fullmatch(digits) or (kind == "count" and _TWO_WAYS.fullmatch(digits) is not None)
    is_long = grouped or match["power"] or _power_word(text)
    lettered = kind in ("count", "number") and match["unit"]
    if not (is_long or lettered):
        return ""
    number, unit = split(text, kind)
    if kind in ("count", "number"):
        number, unit = parse(text, kind), ""
    return f"{number:.15g} {unit or plain}".strip()


def _power_word(text: str) -> str:
    match = _QUANTITY.fullmatch(text.translate(_TYPOGRAPHY))
    word = _WRITTEN_OUT.fullmatch(match["unit"] or "") if match else None
    return word["word"] if word else ""


def _times_power_of_ten(value: float, power: int) -> float:
    """Scale without the rounding of a product: 1.1 million is 1100000."""
    return float(Decimal(repr(value)).scaleb(power)) if power and math.isfinite(value) else value


def _ungrouped(text: str, digits: str, kind: str = "") -> str | None:
    """Return `digits` with a decimal point and no groups; None if they are not a number. Raises UnitError."""
    if _TWO_WAYS.fullmatch(digits):
        if kind == "count" and not digits.endswith("000"):
            return digits.replace(",", "")  # 1.862 is no count
        whole = digits.replace(",", "")
        raise UnitError(
            f"{quoted(text)} may be {digits.replace(',', '.')} or {whole}: write one of these, without a comma"
        )
    if _PLAIN.fullmatch(digits):
        return digits.replace(",", ".")
    grouped = _GROUPED.fullmatch(digits)
    return digits.replace(grouped["mark"], "").replace(",", ".") if grouped else None


def _finite(value: float, text: str) -> float:
    if not math.isfinite(value):
        raise UnitError(f"{quoted(text)} is too large")
    return value


def _scale(text: str, number: float, unit: str, kind: str) -> float:
    """Return the base units of `kind` in a `unit`. Raises UnitError for a wrong, missing or ambiguous unit."""
    scale = None
    match kind:
        case "time":
            if unit.lower() == "m":
                raise _two_meanings(text, f"{number:.6g} ms", f"{number:.6g} min")
            scale = _TIMES.get(unit.lower())
        case "ratio":
            if not unit and 0 < abs(number) <= 1:
                raise _two_meanings(text, f"{number:.6g} %", f"{number * 100:.6g} % (a share of 1)")
            scale = _RATIOS.get(unit.lower())
        case _:
            amount = _AMOUNT.fullmatch(unit) if unit else None
            if amount is not None:
                read = _rate_scale if kind == "rate" else _size_scale
                scale = read(text, number, amount["prefix"], amount["what"] or "", amount["per"] or "")
    if scale is None:
        what = f"has the unit {quoted(unit)}" if unit else "has no unit"
        raise UnitError(f"{quoted(text)} {what}, a {kind} is written like {EXAMPLES[kind]!r}")
    return scale


def _rate_scale(text: str, number: float, prefix: str, what: str, per: str) -> float | None:
    """Return the bit/s in such a unit; iperf3's own "9M" is bits as well."""
    scale, letter = _PREFIXES[prefix.lower()], _symbol(prefix)
    if _is_bits(what):
        return scale if what or not per else None
    written = f"{number:.6g} {letter}B/s ({rate(8 * number * scale)})"
    if not per or (what == "B" and "S" in per):
        # Without "per second" it is an amount; in capitals throughout, the B says nothing.
        raise _two_meanings(text, f"{number:.6g} {letter}bit/s", written)
    return 8 * scale


def _size_scale(text: str, number: float, prefix: str, what: str, per: str) -> float | None:
    if per:
        return None
    scale, letter = _PREFIXES[prefix.lower()], _symbol(prefix)
    if not what and not letter.endswith("i"):
        raise _two_meanings(text, f"{number:.6g} {letter}B", f"{number:.6g} {letter.upper()}iB")
    if what == "b" and prefix in _CARELESS_PREFIXES:
        written = f"{number:.6g} {letter}bit ({number * scale / 8:.15g} bytes)"
        raise _two_meanings(text, f"{number:.6g} {letter}B", written)
    return scale / 8 if what and _is_bits(what) else scale


def _is_bits(what: str) -> bool:
    return what == "b" or what.lower() in ("", "bit", "bits")


def _symbol(prefix: str) -> str:
    return prefix.lower() if prefix.lower() in ("", "k") else prefix.capitalize()


def _two_meanings(text: str, *readings: str) -> UnitError:
    return UnitError(f"{quoted(text)} may be {' or '.join(readings)}: write which")


def quoted(text: str) -> str:
    """Return `repr(text)`, shortened to fit in a message."""
    return errors.quoted(text, 40)


_RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_DECIMAL = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))
_BINARY = ((1024.0**4, "TiB"), (1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"), (1.0, "bytes"))


def _scaled(value: float, steps: tuple[tuple[float, str], ...], digits: int) -> str:
    for scale, unit in steps:
        # The smallest unit also takes what is below it, and 999.96 kbit/s to three digits is 1 Mbit/s.
        if abs(value) >= scale * (1 - 0.5 * 10**-digits) or scale == steps[-1][0]:
            return f"{number(value / scale, digits)} {unit}"
    raise AssertionError("steps is not empty")  # pragma: no cover


def rate(bps: float, digits: int = 3) -> str:
    """Format bit/s like "75.9 Mbit/s"."""
    return _scaled(bps, _RATES, digits)


def seconds(value: float, digits: int = 3) -> str:
    """Format seconds like "20 ms"."""
    return _scaled(value, _SECONDS, digits) if value else "0 s"


def size(value: float, digits: int = 3) -> str:
    """Format bytes like "500 kB", or like "64 KiB" where only the binary unit is exact at `digits` digits."""
    exact = _exact(value, digits)
    return exact[0] if exact else _scaled(value, _DECIMAL, digits)


def _exact(value: float, digits: int) -> list[str]:
    """Return `value` in decimal and binary units, as far as each is exact at `digits` digits."""
    value = float(f"{value:.15g}")
    texts = [_scaled(value, steps, digits) for steps in (_DECIMAL, _BINARY)]
    return [text for text in texts if parse(text, "size") == value]


def _exact_size(value: float) -> str:
    """Format bytes exactly, in the shortest unit: "64 KiB", "15 MB", "75001 bytes"."""
    exact = _exact(value, 3)[:1] or sorted(_exact(value, 6), key=len)
    return exact[0] if exact else f"{value:.15g} bytes"


def number(value: float, digits: int = 3) -> str:
    """Format a plain number; a power of ten only from a million on, and below 0.0001."""
    text = f"{value:.{digits}g}"
    whole = f"{value:.0f}"
    return whole if "e+" in text and abs(float(whole)) < 1e6 else text


def percent(value: float, digits: int = 3) -> str:
    """Format a probability like "0.1 %"."""
    return f"{number(value * 100, digits)} %"


def share(value: float) -> str:
    """Format a measured fraction, or a spread relative to a mean: "12 %"; tiny values are "< 0.01 %"."""
    return "< 0.01 %" if 0 < value < 1e-4 else percent(value, 2)


def signed_percent(value: float) -> str:
    """Format a relative difference like "+6 %" or "−8 %"."""
    rounded = round(value * 100)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else "±"
    return f"{sign}{abs(rounded)} %"


def rounded(value: float, kind: str, digits: int = 3) -> str:
    """Format `value` in the base unit of `kind` for display, to `digits` digits; a count keeps all of its digits."""
    match kind:
        case "rate":
            return rate(value, digits)
        case "time":
            return seconds(value, digits)
        case "ratio":
            return percent(value, digits)
        case "size":
            return size(value, digits)
        case "number":
            return number(value, digits)
        case _:
            return f"{value:.0f}"


def write(value: float, kind: str) -> str:
    """Format `value` in the base unit of `kind` so that `parse` reads it back."""
    return _exact_size(value) if kind in ("size", "window") else rounded(value, kind, 6)


def axis_unit(highest: float, kind: str) -> tuple[float, str]:
    """Return the factor and the name of the unit for values up to `highest`; no name for a plain number."""
    if kind in ("ratio", "share"):
        return 1e-2, "%"
    steps = {"rate": _RATES, "time": _SECONDS, "size": _DECIMAL}.get(kind, ((1.0, ""),))
    return next((step for step in steps if highest >= step[0]), steps[-1])


def or_dash(value: T | None, write: Callable[[T], str] = str) -> str:
    """Format `value` with `write`, or as "–" when it is unknown."""
    return UNKNOWN if value is None else write(value)
