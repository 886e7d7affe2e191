"""Screens as SVG: text in whatever monospaced font there is; lines, blocks, dots and signs as shapes that join.

Several screens become an animation by CSS. GitHub shows it, and a program that doesn't animate shows one of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App

from tests.pictures.shapes import CELL, filled, is_shape, stroked

_MARGIN, _TITLE = 10, 26
"""Around the screen, and the height of the window's title."""
_FONT = 15
_BASELINE = 15
_SPACES = re.compile(r" {3,}")


class Look(NamedTuple):
    """Colors of a screen where no style says otherwise."""

    text: str
    ground: str
    frame: str


class Piece(NamedTuple):
    """Part of a row in one style."""

    x: int
    """Its first column."""
    text: str
    color: str
    ground: str
    marks: str
    """Classes: b bold, i italic, u underlined."""


Screen = tuple[tuple[Piece, ...], ...]
"""The rows of a screen."""


def screen(app: App[Any], look: Look) -> Screen:
    """Return what `app` shows."""
    return tuple(tuple(_pieces(strip, look)) for strip in app.screen._compositor.render_strips())


def picture(title: str, look: Look, shown: Screen) -> str:
    """Return one screen as SVG."""
    return _document(title, look, (shown,), "", [_row(y, row, look) for y, row in enumerate(shown)])


def animation(title: str, look: Look, screens: Sequence[Screen], frame_s: float, rest: int) -> str:
    """Return screens of the same size as an endless animation.

    Args:
        title: Title of the window.
        look: Colors of the screens.
        screens: Its frames.
        frame_s: Time from frame to frame, seconds.
        rest: Index of the frame to show where nothing moves.
    """
    rows = [[_row(y, row, look) for y, row in enumerate(each)] for each in screens]
    still = {y for y in range(len(rows[0])) if len({each[y] for each in rows}) == 1}
    often = Counter(row for each in rows for y, row in enumerate(each) if y not in still)
    names = {row: f"r{number}" for number, row in enumerate(row for row, times in often.items() if times > 1)}
    seconds = frame_s * len(screens)
    style = (
        f".f{{visibility:hidden;animation:f {seconds:g}s step-end infinite}}.rest{{visibility:visible}}"
        f"@keyframes f{{0%{{visibility:visible}}{100 / len(screens):.4f}%,100%{{visibility:hidden}}}}"
        "@media (prefers-reduced-motion:reduce){.f{animation:none}}"
    )
    parts = ["<defs>", *(f'<g id="{name}">{row}</g>' for row, name in names.items()), "</defs>"]
    parts += [rows[0][y] for y in sorted(still)]
    for number, each in enumerate(rows):
        moving = (row for y, row in enumerate(each) if y not in still)
        inner = "".join(f'<use href="#{names[row]}"/>' if row in names else row for row in moving)
        kind = "f rest" if number == rest else "f"
        # A frame whose turn is later has to begin within a cycle, or it would stay hidden until then.
        parts.append(
            f'<g class="{kind}" style="animation-delay:{number * frame_s - seconds:.3f}s">{inner}</g>'
        )
    return _document(title, look, screens, style, parts)


def _pieces(strip: Iterable[Segment], look: Look) -> Iterator[Piece]:
    x = 0
    for text, style, control in Segment.simplify(strip):
        if control:
            continue
        if text.strip() or (style and (style.bgcolor or style.reverse or style.underline)):
            yield _styled(x, text.replace("\xa0", " "), style or Style(), look)
        x += cell_len(text)


def _styled(x: int, text: str, style: Style, look: Look) -> Piece:
    color = style.color.get_truecolor().hex if style.color and not style.color.is_default else look.text
    ground = (
        style.bgcolor.get_truecolor().hex if style.bgcolor and not style.bgcolor.is_default else look.ground
    )
    if style.reverse:
        color, ground = ground, color
    marks = "b" * bool(style.bold) + "i" * bool(style.italic) + "u" * bool(style.underline)
    return Piece(x, text, color, ground, marks)


def _document(title: str, look: Look, screens: Sequence[Screen], style: str, parts: Iterable[str]) -> str:
    columns = max(piece.x + cell_len(piece.text) for rows in screens for row in rows for piece in row)
    width, height = columns * CELL.width + 2 * _MARGIN, len(screens[0]) * CELL.height + _MARGIN + _TITLE
    dots = "".join(f"M{_MARGIN + 8 + 18 * n} {_TITLE / 2:g}h0" for n in range(3))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
            f"<title>{escape(title)}</title>",
            "<style>text{white-space:pre;font:"
            f'{_FONT}px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}}'
            f".b{{font-weight:bold}}.i{{font-style:italic}}.u{{text-decoration:underline}}{style}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{look.ground}" stroke="{look.frame}"/>',
            f'<path d="{dots}" stroke="{look.frame}" stroke-width="10" stroke-linecap="round"/>',
            f'<text x="{width / 2:g}" y="{_TITLE / 2 + 5:g}" text-anchor="middle" fill="{look.text}">'
            f"{escape(title)}</text>",
            f'<g transform="translate({_MARGIN} {_TITLE})">',
            *parts,
            "</g></svg>\n",
        ]
    )


def _row(y: int, row: Sequence[Piece], look: Look) -> str:
    grounds = "".join(_ground(piece) for piece in row if piece.ground != look.ground)
    shapes = {piece.color: "" for piece in row}
    strokes = {piece.color: "" for piece in row}
    texts = ""
    for piece in row:
        for x, character in _columns(piece):
            if is_shape(character):
                shapes[piece.color] += filled(character, x * CELL.width)
                strokes[piece.color] += stroked(character, x * CELL.width)
        texts += "".join(_texts(piece))
    paths = "".join(f'<path fill="{color}" d="{d}"/>' for color, d in shapes.items() if d)
    lines = "".join(
        f'<path fill="none" stroke="{color}" stroke-width="2.4" stroke-linecap="round" d="{d}"/>'
        for color, d in strokes.items()
        if d
    )
    inner = grounds + paths + lines + texts
    return f'<g transform="translate(0 {y * CELL.height})">{inner}</g>' if inner else ""


def _ground(piece: Piece) -> str:
    return (
        f'<rect x="{piece.x * CELL.width}" width="{cell_len(piece.text) * CELL.width}" '
        f'height="{CELL.height}" fill="{piece.ground}" shape-rendering="crispEdges"/>'
    )


def _columns(piece: Piece) -> Iterator[tuple[int, str]]:
    x = piece.x
    for character in piece.text:
        yield x, character
        x += cell_len(character)


def _texts(piece: Piece) -> Iterator[str]:
    """Yield the runs of text between shapes and wide gaps, each as wide as its cells in any font."""
    plain = "".join(" " * cell_len(each) if is_shape(each) else each for each in piece.text)
    at = 0
    for gap in [*_SPACES.finditer(plain), None]:
        run = plain[at : gap.start() if gap else len(plain)]
        stripped = run.lstrip(" ")
        x = piece.x + cell_len(plain[:at]) + len(run) - len(stripped)
        stripped = stripped.rstrip(" ")
        if stripped:
            marks = f' class="{" ".join(piece.marks)}"' if piece.marks else ""
            yield (
                f'<text xml:space="preserve" x="{x * CELL.width}" y="{_BASELINE}" '
                f'textLength="{cell_len(stripped) * CELL.width}" fill="{piece.color}"{marks}>'
                f"{escape(stripped, quote=False)}</text>"
            )
        at = gap.end() if gap else len(plain)
