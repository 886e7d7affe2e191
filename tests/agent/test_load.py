"""How busy the processors were, from the kernel's accounts before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.agent import load
from tcptutor.agent.fidelity import Watch
from tcptutor.agent.load import Busy, Load
from tests.conftest import Build

BEFORE = """cpu  300 0 300 3000 0 0 60 10 0 0
cpu0 100 0 100 1000 0 0 30 10 0 0
cpu1 200 0 200 2000 0 0 30 0 0 0
intr 12345
"""
AFTER = """cpu  350 0 350 3080 0 0 80 50 0 0
cpu0 110 0 110 1030 10 0 40 40 0 0
cpu1 240 0 240 2010 0 0 40 0 0 0
intr 23456
"""


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Busy:
    """Between the two texts: nobody else's hypervisor takes time from this machine when a test asks for it."""
    stat = tmp_path / "stat"
    monkeypatch.setattr(load, "_STAT", stat)
    stat.write_text(BEFORE)
    began = Load()
    stat.write_text(AFTER)
    return began.busy()


def test_the_worst_processor_counts(busy: Busy) -> None:
    """Each had a hundred ticks; waiting for a disk is idle, and what a hypervisor took is not."""
    assert busy == Busy(busiest=0.9, softirq=0.1, steal=0.3)


def test_what_a_hypervisor_took_is_told(busy: Busy, build: Build) -> None:
    watch = Watch(build())
    watch.processors(busy, alone=True)
    assert watch.verdict().reasons == ("the hypervisor took 30% of a processor: give the machine more of it",)


def test_a_processor_that_small_writes_keep_busy_is_not_helped_by_a_lower_rate(build: Build) -> None:
    full = Busy(busiest=1.0, softirq=0.1, steal=0.0)
    for length, remedy in (("1 B", "take a longer length"), ("128 KiB", "take a lower rate")):
        watch = Watch(build(length=length))
        watch.processors(full, alone=True)
        assert watch.verdict().reasons[0].endswith(remedy)
