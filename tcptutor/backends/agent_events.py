"""Events from an agent, read the same way for every backend."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from tcptutor.base.errors import AgentDied, KernelLacks, LabError, ProtocolError, TutorError, UsageError
from tcptutor.run import Ended, QueueSample, SampleTable
from tcptutor.run.results import finished
from tcptutor.wire import protocol, tcp_info
from tcptutor.wire.protocol import Event, Failed, RawSamples, Samples


async def next_event(
    readline: Callable[[], Awaitable[bytes]],
    timeout: float | None,
    name: str,
    last_words: Callable[[], Awaitable[str]],
) -> Event:
    """Return the next event of the agent, called `name` in messages.

    `timeout` is the longest silence in seconds; None waits forever. `last_words` returns the agent's last line of
    output.

    Raises:
        AgentDied: The agent has ended, or is silent for too long.
        ProtocolError: The agent speaks a different version of the protocol.
    """
    try:
        # Not wait_for: before Python 3.12 it loses a cancellation that arrives together with the line.
        async with asyncio.timeout(timeout):
            return protocol.event(await readline())
    except TimeoutError:
        raise AgentDied(f"{name} does not answer: run the experiment again") from None
    except (msgspec.MsgspecError, ConnectionError):
        reason = await last_words()
        raise AgentDied(f"{name} ended{f' ({reason})' if reason else ''}: run the experiment again") from None


def failure(event: Failed) -> TutorError:
    """Return the exception that `event` reports."""
    kinds = {"kernel": KernelLacks, "protocol": ProtocolError, "usage": UsageError}
    return kinds.get(event.kind, LabError)(event.reason)


class EventReader:
    """Decoder of the samples of consecutive runs, which also computes each run's results.

    Decoding happens outside the lab, because the lab's processor may be emulated.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._samples, self._queue = SampleTable(), list[QueueSample]()

    async def read(self, event: Event) -> Event:
        """Return `event`, with raw samples decoded and the end of a run replaced by its results.

        Raises ProtocolError for malformed samples.
        """
        match event:
            case RawSamples():
                try:
                    samples = tuple(tcp_info.samples(event.rows))
                except ValueError as error:
                    raise ProtocolError(f"the lab's agent sends malformed samples: {error}") from error
                self._samples.extend(samples)
                self._queue += event.queue
                return Samples(
                    event.t, samples, event.queue, event.acks, event.senders, event.udp, event.retransmissions
                )
            case Ended():
                table, queue = self._samples, self._queue
                self._begin()
                # A minute of 64 flows takes most of a second, during which the app must stay responsive.
                return await asyncio.to_thread(finished, event, table, queue)
        return event
