from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.course.page_record import PREDICT, Response
from tcptutor.journal import Journal
from tcptutor.journal.events import JournalEvent, Responded, decode
from tcptutor.run import Environment, Run, Sample
from tcptutor.runs import conduct
from tcptutor.runs.store import first_readable
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Samples


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.db"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    journal = Journal.open(path)
    yield journal
    journal.close()


def predict(journal: Journal, text: str, value: float | None, module: str = "m", step: str = "s") -> Response:
    """Lock it, and give what is locked."""
    locked = journal.respond(module, step, PREDICT, Response(text, None, value=value)).activity(PREDICT).first
    assert locked is not None
    return locked


def happened(journal: Journal) -> list[JournalEvent]:
    """All events, of kinds that this version knows."""
    return [event for stored in journal.events() if (event := decode(stored.data))]


def answers(journal: Journal, module: str, step: str) -> list[tuple[str, object, bool]]:
    """Every attempt at the questions of a page: which, what was given, and how it was marked."""
    return [
        (event.activity, event.response.answer, bool(event.response.correct))
        for event in happened(journal)
        if isinstance(event, Responded) and (event.module, event.step) == (module, step)
        if event.activity != PREDICT
    ]


def a_run(id: str = "r1") -> Run:
    return Run(
        id=id,
        experiment=Experiment(name="m/e"),
        environment=Environment(backend="guest", clock="virtual", kernel="6.12"),
        started="2026-01-01T00:00:00+00:00",
    )


def some_samples(number: int) -> Samples:
    """A batch of one sample at `number` seconds."""
    values = {
        "flow": 0, "t": float(number), "cwnd": 10, "ssthresh": 20, "mss": 1448, "rtt": 0.05, "rttvar": 0.0,
        "min_rtt": 0.05, "bytes_acked": 1000 * number, "segs_out": number, "retransmits": 0, "delivery_rate": 1e6,
        "pacing_rate": 2e6, "snd_wnd": 65536, "ca_state": 0, "app_limited": False, "busy": 0.0,
        "rwnd_limited": 0.0, "sndbuf_limited": 0.0, "reord_seen": 0, "dsack_dups": 0, "rto": 0.2,
    }  # fmt: skip
    return Samples(float(number), (Sample(**values),))


def begin(journal: Journal, run: Run, module: str = "m", step: str = "s") -> None:
    """A run begins, as whoever conducts it has it kept."""
    journal.runs.begin(run)
    journal.begin_run(run, module, step)


def finish(journal: Journal, run: Run) -> None:
    """It has ended, and is in its file."""
    kept = conduct.finish(run, journal.runs)
    assert not kept.unsaved
    journal.finish_run(run, kept.file)


def latest_run(journal: Journal, module: str, step: str) -> Run | None:
    """The latest run of the page whose file can be read."""
    return first_readable(journal.run_files(module, step))
