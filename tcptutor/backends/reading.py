"""What an agent sends, as everybody reads it: samples of its rows, and a run's figures of its samples.

It is done here and not in the lab, whose processor may be an emulated one.
"""

from __future__ import annotations

import asyncio

from tcptutor.base.errors import ProtocolError
from tcptutor.run import QueueSample, SampleTable
from tcptutor.run.ended import Ended
from tcptutor.run.results import finished
from tcptutor.wire import rows
from tcptutor.wire.protocol import Event, RawSamples, Samples


class Reading:
    """Reads the events of one run after the other, in their order."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._samples, self._queue = SampleTable(), list[QueueSample]()

    async def read(self, event: Event) -> Event:
        """`event`, or what it stands for. Raises ProtocolError for samples that are none."""
        match event:
            case RawSamples():
                try:
                    taken = tuple(rows.samples(event.rows))
                except ValueError as error:
                    raise ProtocolError(f"the lab's agent sends no samples: {error}") from error
                self._samples.extend(taken)
                self._queue += event.queue
                return Samples(
                    event.t, taken, event.queue, event.acks, event.senders, event.udp, event.resent
                )
            case Ended():
                samples, queue = self._samples, self._queue
                self._begin()
                # Of a minute of 64 flows it takes most of a second, in which an app must not stand still.
                return await asyncio.to_thread(finished, event, samples, queue)
        return event
