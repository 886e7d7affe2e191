"""What is typed: quantities with units."""

from __future__ import annotations

from pathlib import Path

from tcptutor.base import units
from tests.fuzz.reader import Reader

_TYPED = b"100Mbit/s 20ms 0.1% 64KiB 2BDP 1.5Gbit/s 10s 1448bytes 3 0 25% 1e3 -5ms 12.5kbit/s"
_KINDS = ("rate", "time", "ratio", "size")


def _read(path: Path) -> None:
    text = path.read_bytes().decode(errors="replace")
    kind = _KINDS[len(text) % len(_KINDS)]
    units.write(units.parse_size(text) if kind == "size" else units.parse(text, kind), kind)


READERS: tuple[Reader, ...] = (Reader("quantities", ".txt", _TYPED.split, _read),)
