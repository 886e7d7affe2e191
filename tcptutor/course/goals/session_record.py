"""Session records: kernel states, typed commands and runs, as evidence for the goals.

log = SessionLog()
log.take(event, run, digest)                  # each event of the session, with its run
record = log.record_reached(board.reached_ids)    # stored in the journal
"""

from __future__ import annotations

import time

import msgspec

from tcptutor.run import Finished, Run
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import CommandEnded, Event, Failed, RunDetected, Samples

MOST_BYTES = 400 << 10
"""Size limit of a record as JSON, about two hundred network changes; longer records are marked as truncated."""
_LONGEST_COMMAND = 2000


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """Entry of a session record."""

    t: float
    """Wall-clock seconds since the session began."""
    sampled_until: float = 0.0
    """Lab time of the latest sample of the current run, s; 0 without a run."""


class StateEntry(SessionEntry, frozen=True, kw_only=True, tag="state"):
    """Change of the kernel's state."""

    state: SessionState


class CommandTyped(SessionEntry, frozen=True, kw_only=True, tag="command"):
    """Finished command line. It explains the session and proves no goal."""

    host: str
    command: str
    status: int
    """Exit code."""


class SessionRunStarted(SessionEntry, frozen=True, kw_only=True, tag="run-start"):
    """Start of a run."""

    run: str
    """Id of the run."""
    experiment: Experiment
    """First estimate of its experiment."""


class SessionRunEnded(SessionEntry, frozen=True, kw_only=True, tag="run-end"):
    """End of a run."""

    run: str
    digest: str = ""
    """SHA-256 of the run file's text, in hexadecimal; empty without a file."""


class GoalsReached(SessionEntry, frozen=True, kw_only=True, tag="goals-reached"):
    """Moment when all goals were ticked."""

    goals: tuple[str, ...]
    """Their ids."""


Entry = StateEntry | CommandTyped | SessionRunStarted | SessionRunEnded | GoalsReached


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Entries of a session, in order."""

    entries: tuple[Entry, ...]
    truncated: bool = False
    """True if entries were dropped because the record was too long."""

    @property
    def runs(self) -> tuple[str, ...]:
        """Ids of the session's runs, in order."""
        return tuple(each.run for each in self.entries if isinstance(each, SessionRunStarted))

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the run files, by run id."""
        return {each.run: each.digest for each in self.entries if isinstance(each, SessionRunEnded)}

    @property
    def commands(self) -> tuple[CommandTyped, ...]:
        """Command lines of the session."""
        return tuple(each for each in self.entries if isinstance(each, CommandTyped))


class SessionLog:
    """Log of a session's events, appended to the record of earlier sessions."""

    def __init__(self, earlier: SessionRecord | None = None) -> None:
        self._entries: list[Entry] = list(earlier.entries) if earlier is not None else []
        self._began = time.monotonic() - (self._entries[-1].t if self._entries else 0.0)
        self._state: SessionState | None = None
        self._sampled = 0.0
        self._bytes = sum(len(msgspec.json.encode(entry)) for entry in self._entries)
        self._truncated = earlier is not None and earlier.truncated

    def take(self, event: Event, run: Run | None = None, digest: str = "") -> None:
        """Log an event, with its run and, at the run's end, the digest of its file."""
        match event:
            case SessionState() if (settled := _settled(event)) != self._state:
                self._state = settled
                self._add(StateEntry(t=self._now, sampled_until=self._sampled, state=event))
            case Samples():
                self._sampled = event.t
            case CommandEnded(host=host, command=command, status=status):
                text = command[:_LONGEST_COMMAND]
                self._add(
                    CommandTyped(
                        t=self._now, sampled_until=self._sampled, host=host, command=text, status=status
                    )
                )
            case RunDetected(experiment=experiment) if run is not None:
                self._sampled = 0.0
                self._add(SessionRunStarted(t=self._now, run=run.id, experiment=experiment))
            case Finished() | Failed() if run is not None:
                self._sampled = 0.0
                self._add(SessionRunEnded(t=self._now, run=run.id, digest=digest))

    def record_reached(self, goals: tuple[str, ...]) -> SessionRecord:
        """Return the record, ending with the goals of these ids reached."""
        last = GoalsReached(t=self._now, sampled_until=self._sampled, goals=goals)
        return SessionRecord(entries=(*self._entries, last), truncated=self._truncated)

    @property
    def record(self) -> SessionRecord:
        """Record up to now."""
        return SessionRecord(entries=tuple(self._entries), truncated=self._truncated)

    @property
    def _now(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _add(self, entry: Entry) -> None:
        size = len(msgspec.json.encode(entry))
        if self._bytes + size > MOST_BYTES:
            self._truncated = True
            return
        self._bytes += size
        self._entries.append(entry)


def _settled(state: SessionState) -> SessionState:
    """Remove the elapsed time of a run, which changes with each look and is known from the samples."""
    flows = msgspec.structs.replace(state.experiment.flows, duration=0.0, warmup=0.0)
    return msgspec.structs.replace(state, experiment=msgspec.structs.replace(state.experiment, flows=flows))
