"""A kernel whose time moves in ticks of 4 ms: the lab runs, and says what cannot be believed."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tcptutor.backends.guest import architecture
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tests.backends.play import doubt, play
from tests.conftest import Build

pytestmark = pytest.mark.guest

TICKING = ("highres=off", "nohz=off", "clocksource=refined-jiffies")
"""No timer between two ticks, and a clock that counts them; without nohz=off the kernel would not take that clock."""


@pytest.fixture
async def ticking(mark: str, snapshots: Snapshots, tmp_path: Path) -> AsyncIterator[GuestBackend]:
    """The same image, booted by a kernel that is told so."""
    words = (*architecture.chosen().kernel_words, *TICKING)
    own = Snapshots(tmp_path, msgspec.structs.replace(architecture.chosen(), kernel_words=words))
    own.image.folder.symlink_to(snapshots.image.folder)
    backend = GuestBackend("virtual", own)
    yield backend
    await backend.close()
    shutil.rmtree(tmp_path)  # a hundred megabytes


async def test_a_clock_that_moves_in_ticks(ticking: GuestBackend, build: Build) -> None:
    """All that comes of it in one run, for its snapshot takes half a minute: a delay that is no whole number of ticks
    and a bucket that holds less than the rate carries in one."""
    path = {"rate": "10 Mbit/s", "delay": "21 ms", "burst": "2 kB"}
    run = await play(ticking, build(**path, algorithm="reno", duration="2 s", warmup="0 s"))
    assert run.fidelity.status == "suspect"
    assert run.fidelity.checks["clock source"] == "refined-jiffies"
    doubt(run, "the kernel counts time by refined-jiffies, 250 a second: RTTs are coarse")
    doubt(run, "the kernel's timers move in steps of 4 ms: delays and rates are coarse")
    doubt(run, "the empty path takes 24")
    doubt(run, "of the timers were more than 2 ms late")
    # One frame a tick.
    assert "not 10: burst is too small" in doubt(run, "the full bottleneck sent 3.0")
