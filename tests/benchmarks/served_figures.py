"""Keys and output of a class in browsers while figures move: called by `tests.benchmarks.serve`.

All students are on a page with a moving figure and a prediction, both on the screen, and type into the prediction. The
figure rests in one round and plays in the next, in the same sessions: other work on the machine counts for both.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.benchmarks.serve import Served, Student, pause, percentile, served, student

_PAGE = 2
"""Page of the first module: its figure plays for 20 s, and its prediction is below."""
_FIGURE_S = 22.0
"""Seconds until the figure has played and rests."""
_TYPING_S = 16.0
_LETTERS = "äöüñ"
"""No page of the course and no escape sequence has them."""
_BYTES_PER_S = 8000.0
"""Goal for the output of a session: the budget of a figure that plays, and keys."""


class Round(msgspec.Struct):
    """Measurements of rounds of one kind."""

    letters: list[float] = []
    """Seconds until a typed letter was on the screen."""
    bytes_per_s: list[float] = []
    """Output of each session in each round."""
    worked_s: float = 0.0
    """Processor seconds of all sessions."""


class Compared(msgspec.Struct):
    """Rounds in which the figure rested, and rounds in which it played."""

    resting: Round
    playing: Round


async def measure(sessions: int, period: float) -> Compared:
    """Let that many students type for about `period` seconds, half of it while figures play."""
    compared = Compared(Round(), Round())
    rounds = max(1, round(period / 2 / _FIGURE_S))
    everybody = asyncio.Barrier(sessions + 1)
    with tempfile.TemporaryDirectory() as folder:
        async with served(sessions, Path(folder), moves=True) as server, asyncio.TaskGroup() as group:
            for token in server.tokens:
                group.create_task(_watch(server, token, rounds, compared, everybody))
            for _ in range(rounds):
                for kind in (compared.resting, compared.playing):
                    await everybody.wait()
                    before, _ = server.processor_seconds()
                    await everybody.wait()
                    kind.worked_s += server.processor_seconds()[0] - before
    return compared


async def _watch(
    server: Served, token: str, rounds: int, compared: Compared, everybody: asyncio.Barrier
) -> None:
    """Go to the page, let its figure play once, and type in each round."""
    async with student(server, token) as visitor:
        await visitor.press("\r", b"pre-test")
        for page in range(1, _PAGE + 1):
            await visitor.press("\x1b[C", rb"\D%d/\d\d" % page)
        await visitor.press("\t", b"locks it")
        await asyncio.sleep(_FIGURE_S)
        for _ in range(rounds):
            await everybody.wait()
            await _type(visitor, compared.resting)
            await everybody.wait()
            await everybody.wait()
            await visitor.press("\x1b", b"hint")
            await visitor.press("f", "▶".encode())
            await visitor.press("\t", b"locks it")
            await _type(visitor, compared.playing)
            await everybody.wait()


async def _type(visitor: Student, into: Round) -> None:
    """Type, and delete what was typed, for the time in which the figure plays."""
    began, received, typed = time.monotonic(), visitor.received, 0
    while time.monotonic() < began + _TYPING_S:
        await pause()
        letter = _LETTERS[typed % len(_LETTERS)]
        into.letters.append(await visitor.press(letter, letter.encode()))
        typed += 1
    into.bytes_per_s.append((visitor.received - received) / (time.monotonic() - began))
    await visitor.send(typed * "\x7f")
    await asyncio.sleep(_FIGURE_S - _TYPING_S)


def comparison(compared: Compared) -> str:
    """Return a sentence that compares the two kinds of rounds."""
    resting, playing = compared.resting, compared.playing
    medians = " and ".join(f"{1e3 * percentile(each.letters, 50):.0f}" for each in (resting, playing))
    late = " and ".join(f"{1e3 * percentile(each.letters, 99):.0f}" for each in (resting, playing))
    return (
        f"{len(playing.letters)} keys, with figures at rest and in motion: median {medians} ms, 99 % within {late} ms;"
        f" processors {resting.worked_s:.0f} and {playing.worked_s:.0f} s"
    )


def lines(compared: Compared) -> Iterator[tuple[str, float, float, str]]:
    """Yield each figure with its goal and unit."""
    playing = compared.playing
    yield "typed key while a figure plays, 99th percentile", 1e3 * percentile(playing.letters, 99), 250, " ms"
    yield (
        "output of a session while a figure plays, median",
        percentile(playing.bytes_per_s, 50),
        _BYTES_PER_S,
        " B/s",
    )
