"""QR code of the page to join a lecture, in half blocks."""

from __future__ import annotations

from tcptutor.base.errors import TutorError
from tcptutor.base.places import SERVE, pip_install

_QUIET = 4
"""Modules of the light margin that the standard demands."""
_LEAST_QUIET = 2
"""Modules that phones manage with."""
_BLOCKS = {(False, False): "\N{NO-BREAK SPACE}", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def qr_rows(text: str, columns: int, rows: int) -> list[str]:
    """Render the QR code of `text` in block characters, as large as fits; empty if it does not fit.

    Args:
        text: Text to encode.
        columns: Room in columns.
        rows: Room in lines.

    Raises:
        TutorError: segno is missing.
    """
    try:
        import segno  # noqa: PLC0415  # an extra
    except ImportError:
        raise TutorError(f"the QR code needs segno: run {pip_install(*SERVE)}") from None
    code = segno.make(text, error="m", micro=False)
    for scale, quiet in ((2, _QUIET), (1, _QUIET), (1, _LEAST_QUIET)):
        modules = [[bool(module) for module in row] for row in code.matrix_iter(scale=scale, border=quiet)]
        if len(modules[0]) <= columns and (len(modules) + 1) // 2 <= rows:
            return _half_blocks(modules)
    return []


def _half_blocks(modules: list[list[bool]]) -> list[str]:
    if len(modules) % 2:
        modules = [*modules, [False] * len(modules[0])]
    return [
        "".join(_BLOCKS[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(modules[::2], modules[1::2], strict=True)
    ]
