"""The lab in the real guest, on the virtual clock unless a test says otherwise."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from tcptutor import theory
from tcptutor.analysis.compared.what_if import shared_history
from tcptutor.backends.guest import machine, sizes
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.cached_files import FileDigest
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import AgentDied, ImageDamaged, KernelLacks, LabError
from tcptutor.spec import Hosts
from tcptutor.wire.protocol import Samples
from tests import leftovers
from tests.backends.play import carries, play, total_bps
from tests.conftest import Build

pytestmark = pytest.mark.guest


async def test_one_reno_flow_follows_mathis_and_the_path_takes_its_delay(
    guest: GuestBackend, build: Build
) -> None:
    """The issue's own figure: 60 s, 0.1 %, 20 ms, 100 Mbit/s, within 10 % of C = 1.2247 ... 1.31."""
    run = await play(
        guest,
        build(
            rate="100 Mbit/s", delay="20 ms", loss="0.1 %", algorithm="reno", duration="60 s", warmup="5 s"
        ),
    )
    low = theory.mathis(1448, 0.020, 0.001, c=theory.MATHIS_PERIODIC)
    high = theory.mathis(1448, 0.020, 0.001, c=theory.MATHIS_RANDOM)
    assert 0.9 * low <= total_bps(run) <= 1.1 * high
    assert run.fidelity.status == "valid", run.fidelity.reasons
    assert run.fidelity.checks["ping h1"] == pytest.approx(0.020, rel=0.005)
    assert run.experiment_s == pytest.approx(65, abs=0.1)
    assert len(run.samples) >= 20 * 65
    # netem's own count is the loss that was asked for, within what chance allows (three standard errors).
    packets, drops = run.fidelity.checks["netem packets"], run.fidelity.checks["random drops"]
    assert float(drops) == pytest.approx(0.001 * float(packets), abs=3 * (0.001 * float(packets)) ** 0.5)


async def test_eight_lossy_flows_carry_eight_times_one(guest: GuestBackend, build: Build) -> None:
    """The issue's own figure, at 50 ms, within 10 %; one flow runs longer, to see as many losses."""
    path = {"rate": "100 Mbit/s", "delay": "50 ms", "loss": "0.1 %", "algorithm": "reno", "warmup": "3 s"}
    one = await play(guest, build(**path, duration="120 s"))
    eight = await play(guest, build(**path, duration="12 s", streams="8"))
    assert total_bps(eight) == pytest.approx(8 * total_bps(one), rel=0.10)
    assert len(eight.flows) == 8
    assert len({flow.throughput_bps for flow in eight.flows}) == 8


async def test_a_small_window_gives_window_over_rtt(guest: GuestBackend, build: Build) -> None:
    run = await play(
        guest,
        build(
            rate="40 Mbit/s", delay="40 ms", window="64 KiB", algorithm="reno", duration="5 s", warmup="2 s"
        ),
    )
    assert total_bps(run) == pytest.approx(theory.window_limited(65536, 0.040), rel=0.03)
    last = run.samples[-1]
    assert last.rwnd_limited / last.busy > 0.9
    assert run.fidelity.status == "valid", run.fidelity.reasons


async def test_four_pairs_share_the_link_between_the_switches(guest: GuestBackend, build: Build) -> None:
    from msgspec.structs import replace

    experiment = replace(
        build(rate="10 Mbit/s", delay="10 ms", algorithm="cubic", duration="2 s", warmup="1 s"), pairs=4
    )
    run = await play(guest, experiment)
    assert {flow.pair for flow in run.flows} == {0, 1, 2, 3}
    assert total_bps(run) == pytest.approx(10e6 * theory.goodput_ratio(1500), rel=0.03)


async def test_fq_paces_frames_as_the_pacing_lab_measured(guest: GuestBackend, build: Build) -> None:
    """Lab 12 sets maxrate to 5 Gbit/s and measures 4.78: the headers count. The ratio is the same at our scale."""
    run = await play(
        guest,
        build(
            rate="20 Mbit/s",
            delay="10 ms",
            maxrate="10 Mbit/s",
            algorithm="cubic",
            duration="4 s",
            warmup="2 s",
        ),
    )
    assert total_bps(run) / 10e6 == pytest.approx(4.78 / 5, rel=0.01)
    assert run.fidelity.status == "valid", run.fidelity.reasons
    # A segment waits on its own host, and not at the bottleneck.
    waiting = run.senders.column("bytes")
    assert set(run.senders.column("host")) == {1}
    assert len(waiting) == pytest.approx(6 * 20, abs=2)
    assert sum(waiting) / len(waiting) > 2 * run.flows[0].mss
    assert max(run.queue.column("packets")) <= 1


@pytest.mark.parametrize("algorithm", ["bbr", "cubic", "htcp"])
async def test_algorithms_of_the_lessons_fill_a_link(
    guest: GuestBackend, build: Build, algorithm: str
) -> None:
    run = await play(
        guest, build(rate="20 Mbit/s", delay="10 ms", algorithm=algorithm, duration="2 s", warmup="1 s")
    )
    assert total_bps(run) == pytest.approx(20e6 * theory.goodput_ratio(1500), rel=0.1)


async def test_the_same_seed_gives_the_same_run(
    guest: GuestBackend, snapshots: Snapshots, build: Build
) -> None:
    """Equal to the byte: every sample, every ACK, every time, and also beside another guest."""
    assert snapshots.manifest("virtual").exact
    parameters = {
        "rate": "10 Mbit/s",
        "delay": "20 ms",
        "loss": "1 %",
        "algorithm": "reno",
        "duration": "1 s",
        "warmup": "0",
        "acks": "on",
        "maxrate": "8 Mbit/s",
        "udp_streams": "1",
    }

    async def played(on: GuestBackend, seed: int) -> tuple[bytes, ...]:
        run = await play(on, build(seed=seed, **parameters))
        assert run.acks
        assert run.samples
        assert run.udp_samples
        parts = (list(run.samples), list(run.acks), list(run.queue), list(run.senders), run.flows)
        parts += (list(run.udp_samples), run.udp)
        return tuple(msgspec.json.encode(part) for part in parts)

    async def in_turn(on: GuestBackend, *seeds: int) -> list[tuple[bytes, ...]]:
        return [await played(on, seed) for seed in seeds]

    another = GuestBackend("virtual", snapshots)
    try:
        (first, second), (third, other) = await asyncio.gather(in_turn(guest, 5, 5), in_turn(another, 5, 6))
    finally:
        await another.close()
    assert first == second == third
    assert other != first


@pytest.mark.parametrize("change", ["loss=0", "rate=5 Mbit/s", "delay=40 ms", "queue=20 kB", "link=down"])
async def test_runs_are_identical_until_a_setting_changes(
    guest: GuestBackend, build: Build, change: str
) -> None:
    """What changes later is not known to the lab before: the same history, another future."""
    parameters = {
        "rate": "10 Mbit/s",
        "delay": "20 ms",
        "loss": "1 %",
        "duration": "2 s",
        "warmup": "0",
        "acks": "on",
    }
    one = await play(guest, build(seed=3, **parameters, changes="1.5 s jitter=1 ms"))
    other = await play(guest, build(seed=3, **parameters, changes=f"1 s {change}; 1.5 s jitter=1 ms"))
    shared = shared_history(one, other)
    assert shared.differs_at is not None
    assert 1.0 < shared.differs_at < 1.1
    assert shared.until is not None
    assert 0.99 < shared.until <= shared.differs_at


async def test_a_qemu_that_cannot_run_exactly_runs_all_the_same(
    mark: str, snapshots: Snapshots, build: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = Snapshots(tmp_path)
    own.image.folder.symlink_to(snapshots.image.folder)
    monkeypatch.setattr(machine, "_EXACT", ",rr=record,rrfile=/nowhere/record")
    manifest = await own.build("virtual", lambda _share, _text: None)
    assert not (manifest.exact or manifest.repeats)
    # Of another boot nobody knows whether its runs are the same.
    assert manifest.id.startswith(f"{manifest.key}-")
    backend = GuestBackend("virtual", own)
    try:
        run = await play(backend, build(rate="10 Mbit/s", algorithm="reno", duration="1 s", warmup="0"))
    finally:
        await backend.close()
    assert run.complete


async def test_an_algorithm_that_the_kernel_lacks_is_named_and_the_guest_stays_usable(
    guest: GuestBackend, build: Build
) -> None:
    # As if a kernel were without one that others have.
    unknown = msgspec.structs.replace(build(), hosts=Hosts(algorithm="nosuch"))
    with pytest.raises(KernelLacks, match="nosuch"):
        await play(guest, unknown)
    run = await play(guest, build(rate="10 Mbit/s", algorithm="reno", duration="1 s", warmup="0"))
    assert run.complete


@pytest.mark.parametrize("clock", ["virtual", "real"])
async def test_both_clocks_run(mark: str, snapshots: Snapshots, build: Build, clock: str) -> None:
    backend = GuestBackend(clock, snapshots)
    try:
        run = await play(
            backend, build(rate="5 Mbit/s", delay="10 ms", algorithm="reno", duration="3 s", warmup="1 s")
        )
    finally:
        await backend.close()
    assert run.environment.clock == clock
    assert total_bps(run) > 0
    if clock == "real":
        assert carries(run, 5e6 * theory.goodput_ratio(1500), rel=0.005)
    else:
        assert total_bps(run) == pytest.approx(5e6 * theory.goodput_ratio(1500), rel=0.005)


async def test_qemu_killed_during_a_run(own_guest: GuestBackend, build: Build, mark: str) -> None:
    experiment = build(rate="20 Mbit/s", delay="10 ms", algorithm="reno", duration="60 s", warmup="0")
    kept = 0
    with pytest.raises(AgentDied) as caught:
        async with aclosing(own_guest.run(experiment)) as events:
            async for event in events:
                if isinstance(event, Samples):
                    kept += len(event.rows)
                    leftovers.kill(mark, "qemu-system")
    assert kept > 0
    assert "\n" not in str(caught.value)
    # And the next run works at once.
    run = await play(own_guest, build(rate="10 Mbit/s", algorithm="reno", duration="1 s", warmup="0"))
    assert run.complete


async def test_leaving_a_run_early_ends_its_machine(own_guest: GuestBackend, build: Build, mark: str) -> None:
    experiment = build(rate="20 Mbit/s", delay="10 ms", algorithm="reno", duration="60 s", warmup="0")
    async with aclosing(own_guest.run(experiment)) as events:
        async for event in events:
            if isinstance(event, Samples):
                break
    await own_guest.close()
    assert await asyncio.to_thread(leftovers.wait_until_none, mark) == []


@pytest.fixture
def copied(snapshots: Snapshots, tmp_path: Path) -> Snapshots:
    """A guest of the test's own, to damage."""
    shutil.copytree(snapshots.folder, tmp_path / "guest")
    return Snapshots(tmp_path / "guest")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def _flip(path: Path, where: slice) -> None:
    data = bytearray(path.read_bytes())
    data[where] = bytes(byte ^ 0xFF for byte in data[where])
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["image/vmlinuz", "image/base.cpio", "image/image.json"])
async def test_a_damaged_image_is_reported_with_a_remedy(copied: Snapshots, mark: str, name: str) -> None:
    _cut(copied.folder / name)
    with pytest.raises(ImageDamaged, match="tcptutor setup"):
        await GuestBackend("virtual", copied).open()


@pytest.mark.parametrize(
    "where",
    [slice(50_000_000, 50_004_000), slice(-4, None)],
    ids=["in the middle", "that only the checksum at its end shows"],
)
async def test_an_unreadable_snapshot_is_reported_with_a_remedy(
    copied: Snapshots, mark: str, where: slice, monkeypatch: pytest.MonkeyPatch
) -> None:
    _flip(copied.file("virtual"), where)
    # As if none of the places were damaged that are looked at before.
    monkeypatch.setattr(FileDigest, "matches", lambda *_, **__: True)
    backend = GuestBackend("virtual", copied)
    with pytest.raises(ImageDamaged, match="tcptutor setup"):
        await backend.open()
    await backend.close()


async def test_a_machine_that_is_too_busy_is_not_taken_for_a_damaged_snapshot(
    snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = GuestBackend("virtual", snapshots)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(machine, "_START_TIMEOUT", 0.0)
            with pytest.raises(LabError, match=r"too busy .* try again") as refused:
                await backend.open()
            assert not isinstance(refused.value, ImageDamaged)
        assert (await backend.open()).backend == "guest"
    finally:
        await backend.close()


@pytest.mark.parametrize("damage", ["cut", "missing", "other version"])
async def test_a_snapshot_out_of_order_is_known_before_it_is_used(copied: Snapshots, damage: str) -> None:
    manifest = copied.folder / "virtual.json"
    if damage == "cut":
        _cut(copied.file("virtual"))
    elif damage == "missing":
        copied.file("virtual").unlink()
    else:
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "key": "0"}))
    with pytest.raises(ImageDamaged, match="tcptutor setup"):
        copied.manifest("virtual")


def test_the_guest_is_small(snapshots: Snapshots) -> None:
    on_disk = snapshots.image.size() + sum(snapshots.size(clock) for clock in ("virtual", "real"))
    assert on_disk <= 350e6
    assert sizes.DEFAULT_SIZE <= 512
