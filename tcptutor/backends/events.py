"""Events from an agent, read the same way for every backend, and the run that grows from them."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from tcptutor.base.errors import AgentDied, KernelLacks, LabError, ProtocolError, TutorError, UsageError
from tcptutor.run import (
    TABLES,
    Ended,
    Environment,
    Fidelity,
    Finished,
    QueueSample,
    Run,
    SampleTable,
    Status,
    Table,
    TransferTable,
)
from tcptutor.spec import Experiment
from tcptutor.wire import protocol, tcp_info
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Event, Failed, RawSamples, Ready, RunDetected, Samples

UNKNOWN = Environment(backend="", clock="", kernel="")
"""Environment of a run until the lab's first event."""
_ROWS = {
    "samples": "rows",
    "queue": "queue",
    "senders": "senders",
    "udp_samples": "udp",
    "acks": "acks",
    "retransmissions": "retransmissions",
    "queue_second": "queue_second",
}
"""The tables of a run, and the field of an event with their rows."""


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
        self._second = list[QueueSample]()

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
                self._second += event.queue_second
                return Samples(
                    event.t,
                    samples,
                    event.queue,
                    event.acks,
                    event.senders,
                    event.udp,
                    event.retransmissions,
                    event.queue_second,
                )
            case Ended():
                # Lazy import: the app draws its first frame before it needs results.
                from tcptutor.run.results import finished  # noqa: PLC0415

                tables = self._samples, self._queue, self._second
                self._begin()
                # A minute of 64 flows takes most of a second, during which the app must stay responsive.
                return await asyncio.to_thread(finished, event, *tables)
        return event


def tables_of(event: Samples) -> dict[str, Table[Any]]:
    """Return the tables with rows in `event`. Raises OverflowError for a value out of a table's range."""
    return {name: TABLES[name](rows) for name, field in _ROWS.items() if (rows := getattr(event, field))}


def add(run: Run, event: Event) -> None:
    """Apply `event` to `run`."""
    match event:
        case Ready(environment=environment):
            run.environment = environment
        case RunDetected(experiment=experiment) | SessionState(experiment=experiment):
            run.experiment = experiment
        case Samples():
            for name, rows in _ROWS.items():
                getattr(run, name).extend(getattr(event, rows))
            run.experiment_s = event.t
        case Finished():
            run.flows = list(event.flows)
            run.udp = list(event.udp)
            run.captured = list(event.captured)
            run.transfers = TransferTable(event.transfers)
            run.fidelity = event.fidelity
            run.experiment_s = event.seconds
            run.complete = event.complete
            if not event.complete:
                run.note = run.note or "stopped"
            elif run.environment.backend == "replay":
                run.note = run.environment.reason
        case _:
            pass


def cut(run: Run, why: str) -> None:
    """Mark `run` as cut short: its last event never came, and its fidelity was never checked."""
    run.note = why
    if run.fidelity.status == "unchecked":
        measured = run.experiment_s > run.experiment.flows.warmup and (run.samples or run.udp_samples)
        status: Status = "unchecked" if measured else "invalid"
        reason = f"{'cut short, so it was not checked' if measured else 'nothing was measured'}: {why}"
        run.fidelity = Fidelity(status=status, reasons=(reason,))


class Recording:
    """Owns a growing Run: `take` every event in order, and `cut` when the run ends early."""

    def __init__(self, experiment: Experiment, environment: Environment) -> None:
        now = datetime.now(UTC).astimezone()
        self._began = time.monotonic()
        self.run = Run(
            id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            experiment=experiment,
            environment=environment,
            started=now.isoformat(timespec="seconds"),
        )

    def take(self, event: Event) -> None:
        if isinstance(event, Ready):
            self._began = time.monotonic()  # the wait for a lab does not count
        self.run.wall_s = time.monotonic() - self._began
        add(self.run, event)

    def cut(self, why: str) -> None:
        """Mark the run as cut short and keep its data; a complete run stays complete."""
        if self.run.complete:
            return
        cut(self.run, why)
        self.run.wall_s = time.monotonic() - self._began
