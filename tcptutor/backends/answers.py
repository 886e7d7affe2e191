"""What an agent answers, read the same way whichever backend it runs under."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from tcptutor.base.errors import AgentDied, KernelLacks, LabError, ProtocolError, TutorError, UsageError
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Failed


async def next_event(
    readline: Callable[[], Awaitable[bytes]],
    timeout: float | None,
    who: str,
    last_words: Callable[[], Awaitable[str]],
) -> Event:
    """The agent's next event. Raises AgentDied when `who` is silent for `timeout` seconds, or has ended; ProtocolError
    when it speaks another version."""
    try:
        # Not wait_for: before Python 3.12 it loses a cancellation that comes together with the line.
        async with asyncio.timeout(timeout):
            return protocol.event(await readline())
    except TimeoutError:
        raise AgentDied(f"{who} does not answer any more: run the experiment again") from None
    except (msgspec.MsgspecError, ConnectionError):
        said = await last_words()
        raise AgentDied(f"{who} ended{f' ({said})' if said else ''}: run the experiment again") from None


def failure(event: Failed) -> TutorError:
    """The exception that `event` tells of."""
    kinds = {"kernel": KernelLacks, "protocol": ProtocolError, "usage": UsageError}
    return kinds.get(event.kind, LabError)(event.reason)
