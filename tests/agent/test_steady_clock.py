"""The process that keeps the processor of a session's guest busy: when it runs, and that it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.agent.session import steady_clock
from tcptutor.agent.session.steady_clock import SteadyClock
from tests import patience

IDLE = "a\nb\n    lo: 9 {} 0\ns1-eth2: 700 {} 0 0\n"


@pytest.fixture(name="interfaces")
def _interfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "dev"
    file.write_text(IDLE.format(1, 5))
    monkeypatch.setattr(steady_clock, "_INTERFACES", file)
    return file


@pytest.fixture(name="clock")
def _clock(interfaces: Path) -> Iterator[SteadyClock]:
    clock = SteadyClock()
    yield clock
    clock.close()


def _is_spinning(clock: SteadyClock) -> bool:
    return Path(f"/proc/{clock._process}/stat").read_text().rpartition(")")[2].split()[0] not in "Tt"


def _becomes(clock: SteadyClock, spinning: bool) -> bool:
    deadline = time.monotonic() + patience.seconds(5)
    while _is_spinning(clock) != spinning and time.monotonic() < deadline:
        time.sleep(0.01)
    return _is_spinning(clock) == spinning


def test_it_spins_while_packets_pass_and_a_little_longer(clock: SteadyClock, interfaces: Path) -> None:
    assert _becomes(clock, spinning=False)
    clock.poll(10.0)
    assert _becomes(clock, spinning=False)
    interfaces.write_text(IDLE.format(1, 6))
    clock.poll(10.1)
    assert _becomes(clock, spinning=True)
    clock.poll(11.5)
    assert _becomes(clock, spinning=True)
    interfaces.write_text(IDLE.format(2, 6))  # packets of a program with itself
    clock.poll(11.7)
    assert _becomes(clock, spinning=False)


def test_it_spins_after_input(clock: SteadyClock) -> None:
    clock.take_input(10.0)
    assert _becomes(clock, spinning=True)
    clock.poll(11.6)
    assert _becomes(clock, spinning=False)


@pytest.mark.parametrize("spinning", [False, True])
def test_it_ends(interfaces: Path, spinning: bool) -> None:
    clock = SteadyClock()
    if spinning:
        clock.take_input(0.0)
    clock.close()
    assert not Path(f"/proc/{clock._process}").exists()
