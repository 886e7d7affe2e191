"""A lab that gives the events it was told, at once, and says what became of each run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable

from tcptutor.run import Environment, Fidelity, Finished, Sample
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import VERSION, Event, Phase, Ready, Samples

EXPERIMENT = Experiment(name="m/e")
HERE = Environment(backend="guest", clock="virtual", kernel="6.12")
READY = Ready(VERSION, HERE)
WHOLE = Finished((), Fidelity(status="valid"), 3.0)
_ZEROS = dict.fromkeys(Sample.__struct_fields__, 0)


def samples(t: float) -> Samples:
    """A batch of one sample at `t` seconds."""
    return Samples(t, (Sample(**{**_ZEROS, "t": t, "cwnd": 10, "app_limited": False}),))


A_RUN: tuple[Event, ...] = (
    READY,
    Phase("traffic", "traffic flows"),
    samples(1.0),
    samples(2.0),
    samples(3.0),
    WHOLE,
)


Script = Iterable[Event | Exception | asyncio.Event]


async def play(script: Script) -> AsyncIterator[Event]:
    """Gives the events and raises the exceptions; an asyncio.Event is set, and nothing comes after it."""
    for each in script:
        if isinstance(each, asyncio.Event):
            each.set()
            await asyncio.Event().wait()
        elif isinstance(each, Exception):
            raise each
        else:
            yield each


class ScriptedLab:
    """Plays `script` in every run."""

    def __init__(self, script: Script = A_RUN) -> None:
        self.script = script
        self.environment: Environment | None = None
        self.ended: list[str] = []
        """Of each run: "whole", "failed" or "stopped"."""
        self.closed = False

    async def warm(self) -> Environment:
        self.environment = HERE
        return HERE

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        end = "stopped"
        try:
            async for event in play(self.script):
                yield event
            end = "whole"
        except Exception:
            end = "failed"
            raise
        finally:
            self.ended.append(end)

    async def close(self) -> None:
        self.closed = True
