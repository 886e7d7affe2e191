"""What is kept of a session: each change of the network once, and no more for a run that goes on."""

from __future__ import annotations

from msgspec.structs import replace

from tcptutor.course.goals.session_record import SessionLog
from tcptutor.wire.kernel_state import SessionState
from tests.analysis.synthetic import experiment


def test_a_run_that_goes_on_is_no_change_of_the_network() -> None:
    made = experiment(rate="10 Mbit/s")
    log = SessionLog()
    for seconds in (0.2, 0.4, 30.0):
        log.take(SessionState(replace(made, flows=replace(made.flows, duration=seconds))))
    assert len(log.record.entries) == 1
    log.take(SessionState(experiment(rate="5 Mbit/s")))
    assert len(log.record.entries) == 2
