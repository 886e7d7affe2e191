"""How much memory an experiment is given, and what is said where there is not enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.backends.guest import sizes
from tcptutor.base import places
from tcptutor.base.errors import KernelLacks
from tcptutor.course import experiments
from tcptutor.wire import memory
from tests.conftest import Build
from tests.each import each

LESSONS = [
    f"{path.parents[1].name.partition('-')[2]}/{path.stem}"
    for path in sorted(places.lessons().glob("*/experiments/*.toml"))
]
FAST = {"rate": "10 Gbit/s", "delay": "30 ms", "queue": "15 MB", "offloads": "on"}


@pytest.fixture
def meminfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 64 GiB free, unless the test writes another text."""
    path = tmp_path / "meminfo"
    path.write_text(f"MemTotal: 1 kB\nMemAvailable: {64 << 20} kB\n")
    monkeypatch.setattr(sizes, "_MEMINFO", path)
    return path


@each("name", LESSONS)
def test_the_ordinary_guest_holds_every_experiment_of_the_lessons(name: str, meminfo: Path) -> None:
    experiment = experiments.build(name)
    assert sizes.size(experiment) == sizes.DEFAULT_SIZE
    # Of a path that only its losses limit, eight flows are eight times as much: no page asks for them.
    flows = experiment.flows
    if experiment.path.rate and not any(len(each) > 1 for each in (flows.starts, flows.messages)):
        assert sizes.size(experiments.build(name, {"streams": "8"})) == sizes.DEFAULT_SIZE


@pytest.mark.parametrize(
    ("parameters", "size"),
    [
        ({}, 1024),
        # Nothing waits that a window does not let out, or that a send buffer does not hold.
        ({"window": "8.1 MB"}, sizes.DEFAULT_SIZE),
        ({"tcp_wmem": "4096 16384 4194304"}, sizes.DEFAULT_SIZE),
        ({"tcp_wmem": "4096 16384 4194304", "streams": "64"}, 1024),
        ({"delay": "100 ms", "queue": "1 BDP"}, 4096),
        # What a change brings counts, and how much a run can send at all.
        ({"changes": "1s delay=500ms"}, 16384),
        ({"rate": "1 Mbit/s", "queue": "1 GiB"}, sizes.DEFAULT_SIZE),
        # A processor of a guest carries some 10 Gbit/s, whatever the link would.
        ({"rate": "100 Gbit/s", "delay": "92 ms", "queue": "0.2 BDP", "streams": "4"}, 4096),
    ],
)
def test_the_guest_is_as_large_as_the_windows_are(
    build: Build, meminfo: Path, parameters: dict[str, str], size: int
) -> None:
    assert sizes.size(build(**FAST | parameters)) == size


def test_no_memory_is_told_in_one_line_before_anything_starts(build: Build, meminfo: Path) -> None:
    with pytest.raises(KernelLacks, match=r"may take \S+ GB, and the largest guest holds \S+ GB: take a"):
        sizes.size(build(**FAST | {"delay": "1 s", "streams": "16", "queue": "0.01 BDP"}))
    meminfo.write_text(f"MemAvailable: {1000 << 10} kB\n")
    with pytest.raises(
        KernelLacks, match=r"the guest needs 1 GiB of memory and this machine has 1000 MiB free"
    ):
        sizes.size(build(**FAST))
    assert sizes.size(build(**FAST, window="64 KiB")) == sizes.DEFAULT_SIZE
    assert sizes.guests_that_fit(sizes.DEFAULT_SIZE) == 2


@pytest.mark.parametrize(
    "parameters", [{"rate": "10 Gbit/s", "delay": "180 ms"}, {"queue": "520 MiB"}, {"queue": "1 GiB"}]
)
def test_buffers_are_never_larger_than_the_kernel_can_count(build: Build, parameters: dict[str, str]) -> None:
    assert memory.largest_buffer(build(**{"rate": "100 Mbit/s"} | parameters)) == 2**31 - 1
    assert memory.largest_buffer(build(rate="100 Mbit/s", delay="20 ms")) == memory.BUFFER_MIN


def test_the_buffers_of_udp_are_counted(build: Build) -> None:
    without, many = build(pairs=2), build(pairs=2, udp_streams="32")
    assert memory.udp_bytes(without) == 0
    assert memory.udp_bytes(many) == 64 * 4 * 212_992


def test_what_the_programs_of_many_flows_take_is_counted(build: Build) -> None:
    """256 flows of small buffers ended a guest of the ordinary size."""
    few = build(pairs=4, streams="16", buffer="256 KiB", pacing="1 Mbit/s")
    many = build(pairs=4, streams="64", buffer="256 KiB", pacing="1 Mbit/s")
    assert sizes.size(few) == sizes.DEFAULT_SIZE < sizes.size(many)
