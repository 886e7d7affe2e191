"""A thousand values of --set, mistyped or meant ill: each is refused in one line, or builds what holds."""

from __future__ import annotations

import random
import time

import click
import pytest

from tcptutor import spec
from tcptutor.analysis.expected.expect import expect
from tcptutor.base.errors import UsageError
from tcptutor.commands import options
from tcptutor.spec import PARAMETERS

BASE = {"rate": "10 Mbit/s", "delay": "20 ms", "duration": "5 s"}
NUMBER = 1000
_DIGITS = "9" * 5000
_ODD = (
    "", " ", "none", "-1", "-5ms", "+", "nan", "inf", "-inf", "1e400", "1e-400", "1e99999", "-0", "0", "00",
    "0x10", "1_000", "1,5", "1,500", "1.5.5", "1 2", "1 000 000", "'", "\"", "[1]", "{}", "1;2", "true", "null",
    "1/0", "5 Mbit/s5", "5 Mb it", "10", "10m", "10 parsecs", "10 Mbit", "10 MB/s", "1e308 Tbit/s", "1e308 BDP",
    "BDP", "1e-320 BDP", "9" * 400 + " ms", _DIGITS, f"{_DIGITS} BDP", f"0.{_DIGITS} %", f"1e{_DIGITS}", "٣ ms",
    "３ ms", "²", "½ s", "1\u202e0ms", "1\x1b[31mms", "1\x00ms", "1\nms", "5\tms", "\ud800", "1\u2028ms", "%",
    "%s%n", "50", "0.5", "101%", "-1%", "1e-30%", "1e-12 s", "99999 h", "a" * 5000, "(" * 5000,
    ",".join(["1ms"] * 5000), ";".join(["1s rate=1Mbit/s"] * 5000), "at", "1s", "1s rate=", "1s rate=nan",
    "1e400s rate=1Mbit/s", f"{_DIGITS}s loss=1%", "1s loss=1e400%", "-1s delay=1ms", "1s link=0",
    "1s mtu=\x1b]52;c;AA\x07", "4096 " + _DIGITS, "4096 -1 0",
)  # fmt: skip
_NAMES = (
    *PARAMETERS, *PARAMETERS, "tcp_rmem", "tcp_wmem", "net.ipv4.tcp_sack", "tcp_" + "a" * 5000, "rtt", "los",
    "RATE", "\x1b[2J", "rate\u202e", "__class__", "a" * 5000, "net.core.rmem_max", "0", "seed", "ρate",
)  # fmt: skip


def _given(draw: random.Random) -> list[str]:
    return [f"{draw.choice(_NAMES)}={draw.choice(_ODD)}" for _ in range(draw.choice((1, 1, 1, 2, 3)))]


@pytest.mark.parametrize("part", range(10))
def test_each_is_refused_in_one_printable_line_or_holds(part: int) -> None:
    draw = random.Random(part)
    for _ in range(NUMBER // 10):
        given = _given(draw)
        began = time.process_time()
        try:
            asked = options._settings(None, None, tuple(given))  # type: ignore[arg-type]
            made = spec.build("m/e", {"parameters": BASE}, asked)
        except (UsageError, click.UsageError) as error:
            said = error.format_message() if isinstance(error, click.UsageError) else str(error)
            code = error.exit_code
            assert code == 2 and said.isprintable() and len(said) < 1000, (given, said)
        else:
            spec.check(made)
            expect(made, None, None)
        assert time.process_time() - began < 2, given
