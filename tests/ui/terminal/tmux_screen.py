"""What tmux shows of the same bytes: text, looks, and where the cursor is."""

from __future__ import annotations

import re
import subprocess
import time
import uuid
from pathlib import Path
from typing import NamedTuple

from tests import patience

LOOKS = {1: "bold", 3: "italics", 4: "underscore", 7: "reverse", 9: "strikethrough"}
NAMES = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
"""pyte's names of the eight colours."""


class Shown(NamedTuple):
    """A screen: for each line its cells, and the cursor's column and line from 0."""

    lines: list[list[tuple[str, frozenset[str]]]]
    cursor: tuple[int, int]

    @property
    def text(self) -> list[str]:
        return ["".join(character for character, _ in line).rstrip() for line in self.lines]


class TmuxScreen:
    """A tmux of the test's own, a window for each screen that is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._socket = folder, str(folder / f"tmux-{uuid.uuid4().hex[:6]}")
        self._number = 0
        # The server ends with its last window.
        self._tmux("-u", "-f", "/dev/null", "new-session", "-d", "-s", "holds", "sleep 1000")
        self._tmux("set-option", "-g", "status", "off")

    def show(self, data: bytes, columns: int = 80, lines: int = 24) -> Shown:
        """`data` on a screen of that size."""
        self._number += 1
        name = f"s{self._number}"
        source, done = self._folder / name, self._folder / f"{name}.done"
        source.write_bytes(data)
        begin = self._folder / f"{name}.begin"
        command = f"stty raw -echo; until [ -e {begin} ]; do sleep 0.01; done; cat {source}; touch {done}; sleep 100"
        self._tmux(
            "new-session", "-d", "-s", name, "-x", str(columns), "-y", str(lines),
            f"sh -c '{command}'",
        )  # fmt: skip
        self._tmux("resize-window", "-t", name, "-x", str(columns), "-y", str(lines))
        begin.touch()
        deadline = patience.Deadline(20)
        while not done.exists():
            assert deadline.left
            time.sleep(0.01)
        before = None
        # What cat has written may still be on its way through tmux.
        while (now := self._capture(name)) != before:
            before = now
            time.sleep(0.08)
        self._tmux("kill-session", "-t", name)
        return now

    def _capture(self, name: str) -> Shown:
        text = self._tmux("capture-pane", "-p", "-e", "-N", "-t", name).removesuffix("\n")
        place = self._tmux("display-message", "-p", "-t", name, "#{cursor_x} #{cursor_y}").split()
        return Shown([cells(line) for line in _continued(text)], (int(place[0]), int(place[1])))

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)


def _continued(text: str) -> list[str]:
    """tmux carries a look from one line to the next: each line with what goes on of it."""
    lines, look = [], ""
    for line in text.split("\n"):
        lines.append(look + line)
        for sgr in re.findall(r"\x1b\[[\d;:]*m", line):
            look = "" if sgr in ("\x1b[m", "\x1b[0m") else look + sgr
        shifts = re.findall("[\x0e\x0f]", lines[-1])
        look += shifts[-1] if shifts else ""
    return lines


def cells(line: str) -> list[tuple[str, frozenset[str]]]:
    """A line with its looks, as tmux writes it; charset shifts are those of line drawing."""
    result: list[tuple[str, frozenset[str]]] = []
    look: dict[str, str] = {}
    drawing = False
    for sgr, shift, character in re.findall(r"\x1b\[([\d;:]*)m|([\x0e\x0f])|([^\x1b])", line):
        if character:
            shown = character.translate(DRAWING) if drawing else character
            result.append((shown, frozenset(f"{k}={v}" for k, v in look.items())))
        elif shift:
            drawing = shift == "\x0e"
        else:
            _take(look, [int(part or 0) for part in re.split("[;:]", sgr)])
    return result


DRAWING = str.maketrans("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")


def _take(look: dict[str, str], numbers: list[int]) -> None:
    rest = list(reversed(numbers))
    while rest:
        number = rest.pop()
        if number == 0:
            look.clear()
        elif number in LOOKS:
            look[LOOKS[number]] = "1"
        elif number in (38, 48):
            kind = rest.pop()
            colour = f"256:{rest.pop()}" if kind == 5 else f"rgb:{rest.pop()},{rest.pop()},{rest.pop()}"
            look["fg" if number == 38 else "bg"] = colour
        elif number in (39, 49):
            look.pop("fg" if number == 39 else "bg", None)
        else:
            for first, plane, prefix in (
                (30, "fg", ""),
                (40, "bg", ""),
                (90, "fg", "bright"),
                (100, "bg", "bright"),
            ):
                if first <= number < first + 8:
                    look[plane] = prefix + NAMES[number - first]
