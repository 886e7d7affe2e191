"""Builds a Run from its events, the same way for the command line and the app."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from typing import Any

from tcptutor.run import TABLES, Environment, Fidelity, Finished, Run, Status, Table
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Event, Ready, RunDetected, Samples

UNKNOWN = Environment(backend="", clock="", kernel="")
"""Environment of a run until the lab's first event."""
_ROWS = {
    "samples": "rows",
    "queue": "queue",
    "senders": "senders",
    "udp_samples": "udp",
    "acks": "acks",
    "retransmissions": "retransmissions",
}
"""The tables of a run, and the field of an event with their rows."""


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
        self.run.wall_s = time.monotonic() - self._began
        add(self.run, event)

    def cut(self, why: str) -> None:
        """Mark the run as cut short and keep its data; a complete run stays complete."""
        if self.run.complete:
            return
        cut(self.run, why)
        self.run.wall_s = time.monotonic() - self._began
