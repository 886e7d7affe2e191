"""Load of the processors from two readings of the kernel's counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.agent import counters
from tcptutor.agent.counters import Processors, ProcessorShares
from tcptutor.agent.fidelity import FidelityChecks
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
def shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessorShares:
    """Shares between two fixed readings."""
    stat = tmp_path / "stat"
    monkeypatch.setattr(counters, "_STAT", stat)
    stat.write_text(BEFORE)
    began = Processors()
    stat.write_text(AFTER)
    return began.shares()


def test_the_worst_processor_counts(shares: ProcessorShares) -> None:
    """Each had a hundred ticks; waiting for a disk is idle, and what a hypervisor took is not."""
    assert shares == ProcessorShares(busiest=0.9, softirq=0.1, steal=0.3)


def test_stolen_time_makes_a_run_suspect(shares: ProcessorShares, build: Build) -> None:
    checks = FidelityChecks(build())
    checks.check_processors(shares, alone=True)
    assert checks.verdict().reasons == (
        "the hypervisor took 30% of a processor: give the machine more of it",
    )


def test_a_processor_that_small_writes_keep_busy_is_not_helped_by_a_lower_rate(build: Build) -> None:
    full = ProcessorShares(busiest=1.0, softirq=0.1, steal=0.0)
    for length, remedy in (("1 B", "take a longer length"), ("128 KiB", "take a lower rate")):
        checks = FidelityChecks(build(length=length))
        checks.check_processors(full, alone=True)
        assert checks.verdict().reasons[0].endswith(remedy)


def test_a_processor_of_the_virtual_clock_may_be_the_limit_of_small_writes(build: Build) -> None:
    full = ProcessorShares(busiest=1.0, softirq=0.1, steal=0.0)
    for length, doubts in (("1 B", 0), ("128 KiB", 1)):
        checks = FidelityChecks(build(length=length))
        checks.check_processors(full, alone=True, clock="virtual")
        assert len(checks.verdict().reasons) == doubts
