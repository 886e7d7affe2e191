"""Turns the events of one run into a Run, the same way for the command line and the app."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from typing import Any

from tcptutor.run import TABLES, Environment, Fidelity, Run, Status, Table
from tcptutor.run.ended import Finished
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Event, Ready, RunDetected, Samples

_ROWS = {
    "samples": "rows",
    "queue": "queue",
    "senders": "senders",
    "udp_samples": "udp",
    "acks": "acks",
    "resent": "resent",
}
"""The tables of a run, and what an event calls their rows."""


def tables_of(event: Samples) -> dict[str, Table[Any]]:
    """What `event` adds to each table of a run, where it adds any. Raises OverflowError for what no table holds."""
    return {name: TABLES[name](rows) for name, field in _ROWS.items() if (rows := getattr(event, field))}


def add(run: Run, event: Event) -> None:
    """Add what `event` says to `run`."""
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
    """Mark `run`, whose end never came, as cut short: nobody has looked whether it may be believed."""
    run.note = why
    if run.fidelity.status == "unchecked":
        measured = run.experiment_s > run.experiment.flows.warmup and (run.samples or run.udp_samples)
        status: Status = "unchecked" if measured else "invalid"
        reason = f"{'cut short, so it was not checked' if measured else 'nothing was measured'}: {why}"
        run.fidelity = Fidelity(status=status, reasons=(reason,))


class Recording:
    """Owns a Run while it grows. `take` every event in order; `cut` when the run ended before its time."""

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
        """Add what `event` says to the run."""
        self.run.wall_s = time.monotonic() - self._began
        add(self.run, event)

    def cut(self, why: str) -> None:
        """Mark the run as cut short, keeping what has arrived; one whose end had arrived stays whole."""
        if self.run.complete:
            return
        cut(self.run, why)
        self.run.wall_s = time.monotonic() - self._began
