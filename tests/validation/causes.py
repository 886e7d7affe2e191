"""`python -m tests.validation.causes --seed S`: is the one thing that limits a run named?

Draws experiments each of which has one known cause by its making, with every other limit well away from it, runs them
in the guest and compares the verdicts. The runs are kept in a folder: a second call with the same seed scores them
without running anything. Among them are two host pairs, flows of the other direction, round trips that differ, and
what somebody types in a shell.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from tcptutor import run as runs
from tcptutor import spec
from tcptutor.analysis import Report, report
from tcptutor.backends.events import Recording
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.session import LabTerminal
from tcptutor.base.errors import TutorError
from tcptutor.run import Finished, Run
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import RunDetected
from tests import patience
from tests.backends.play import play

COUNT = 60
_AGAIN = 3
"""How often a run on the real clock is made again on a machine that is too busy."""
SERVER = "h2 sh -c 'iperf3 -s -D; until ss -Hltn sport = :5201 | grep -q .; do :; done'"


class Known(NamedTuple):
    """An experiment and what limits it."""

    why: str
    """Why it can be nothing else."""
    causes: tuple[str, ...]
    """More than one where both are the same limit, one at each end."""
    experiment: Experiment
    typed: str = ""
    """What somebody types in a shell of h1 to make the run; empty for an experiment that runs by itself."""


Draw = random.Random


class _Link(NamedTuple):
    """A path that is drawn, and the seconds in which it carries some thousand segments."""

    rate: float
    delay: float

    @classmethod
    def of(cls, draw: Draw, slow: bool = False) -> _Link:
        return cls(round(draw.uniform(4, 8 if slow else 20), 1), round(draw.uniform(15, 80)))

    @property
    def bdp(self) -> float:
        """Bytes."""
        return self.rate * 1e6 * self.delay / 8000

    def given(self, used: float = 1.0, **more: str) -> dict[str, str]:
        """Parameters; `used` is the share of the link that is expected to be."""
        seconds = min(12.0, max(4.0, 3000 * 11584 / (used * self.rate * 1e6)))
        return {
            "rate": f"{self.rate} Mbit/s", "delay": f"{self.delay} ms", "duration": f"{seconds:.1f} s",
            "warmup": "2 s", "queue": "2 BDP", **more,
        }  # fmt: skip


def _known(why: str, causes: str, parameters: dict[str, str], pairs: int = 1, typed: str = "") -> Known:
    made = spec.build("validation/causes", {"parameters": parameters, "pairs": pairs})
    return Known(why, tuple(causes.split()), made, typed)


def _window(draw: Draw) -> Known:
    path, share = _Link.of(draw), draw.uniform(0.2, 0.55)
    size = max(6000, round(share * path.bdp))
    algorithm = draw.choice(["reno", "cubic", "bbr", "htcp"])
    return _known(
        f"{size} bytes are {share:.0%} of the BDP", "receive-window",
        path.given(share, window=f"{size} B", algorithm=algorithm),
    )  # fmt: skip


def _window_pairs(draw: Draw) -> Known:
    path, share = _Link.of(draw), draw.uniform(0.1, 0.25)
    size = max(6000, round(share * path.bdp))
    return _known(
        f"two windows of {share:.0%} of the BDP, one of them over a longer way", "receive-window",
        path.given(2 * share, window=f"{size} B", pair_delays=f"0 ms, {draw.randint(10, 60)} ms"), pairs=2,
    )  # fmt: skip


def _fq_back(draw: Draw) -> Known:
    path, share = _Link.of(draw), draw.uniform(0.2, 0.8)
    return _known(
        f"fq lets {share:.0%} of the link out, the other way", "pacing",
        path.given(
            share, maxrate=f"{share * path.rate:.2f} Mbit/s", directions="reverse",
            reverse_rate=f"{path.rate} Mbit/s",
        ),
    )  # fmt: skip


def _send_buffer(draw: Draw) -> Known:
    path, share = _Link(round(draw.uniform(12, 25), 1), round(draw.uniform(40, 100))), draw.uniform(0.2, 0.45)
    size = max(16384, round(share * path.bdp))
    return _known(
        f"a send buffer of {share:.0%} of the BDP", "send-buffer", path.given(share, send_buffer=f"{size} B")
    )


def _paced(draw: Draw) -> Known:
    path, share = _Link.of(draw), draw.uniform(0.2, 0.85)
    algorithm = draw.choice(["reno", "cubic", "bbr"])
    return _known(
        f"the application paces at {share:.0%} of the link", "pacing",
        path.given(share, pacing=f"{share * path.rate:.2f} Mbit/s", algorithm=algorithm),
    )  # fmt: skip


def _fq(draw: Draw) -> Known:
    path, share = _Link.of(draw), draw.uniform(0.2, 0.9)
    return _known(
        f"fq lets {share:.0%} of the link out", "pacing",
        path.given(share, maxrate=f"{share * path.rate:.2f} Mbit/s"),
    )  # fmt: skip


def _fq_pairs(draw: Draw) -> Known:
    path, share, pairs = _Link.of(draw), draw.uniform(0.85, 0.95), draw.choice([2, 4])
    return _known(
        f"{pairs} pairs, whose fqs let {share:.0%} of the link out together", "pacing",
        path.given(share, maxrate=f"{share * path.rate / pairs:.3f} Mbit/s"), pairs=pairs,
    )  # fmt: skip


def _both_pace(draw: Draw) -> Known:
    path, low, high = _Link.of(draw), draw.uniform(0.2, 0.4), draw.uniform(0.6, 0.9)
    fq, application = draw.choice([(low, high), (high, low)])
    return _known(
        "application and fq pace, at very different rates", "pacing",
        path.given(low, maxrate=f"{fq * path.rate:.2f} Mbit/s", pacing=f"{application * path.rate:.2f} Mbit/s"),
    )  # fmt: skip


def _loss_for(draw: Draw, path: _Link, flows: int = 1) -> tuple[float, float]:
    """A share of the link that so many Reno flows get together, and the loss with which they do."""
    share = draw.uniform(0.25, 0.5)
    window = share * path.bdp / 1448 / flows
    return share, min(0.04, 1.5 / max(window, 3.0) ** 2)


def _loss(draw: Draw) -> Known:
    path = _Link.of(draw)
    share, loss = _loss_for(draw, path)
    how = draw.choice([{}, {"loss_by": "firewall"}, {"loss_burst": "3"}])
    loss *= float(how.get("loss_burst", 1))  # a burst is one loss event, which is what the share is of
    return _known(
        f"{100 * loss:.2g} % are lost: Reno would have {share:.0%} of the link", "random-loss",
        path.given(share, loss=f"{100 * loss:.3g} %", algorithm=draw.choice(["reno", "cubic"]), **how),
    )  # fmt: skip


def _loss_pairs(draw: Draw) -> Known:
    path = _Link.of(draw)
    share, loss = _loss_for(draw, path, 2)
    return _known(
        f"{100 * loss:.2g} % are lost: two Renos would have {share:.0%} of the link", "random-loss",
        path.given(
            share, loss=f"{100 * loss:.3g} %", algorithm="reno", pair_delays=f"0 ms, {draw.randint(0, 40)} ms"
        ), pairs=2,
    )  # fmt: skip


def _loss_back(draw: Draw) -> Known:
    path = _Link.of(draw)
    share, loss = _loss_for(draw, path)
    return _known(
        f"{100 * loss:.2g} % of the other direction are lost, where the data goes", "random-loss",
        path.given(
            share, reverse_loss=f"{100 * loss:.3g} %", algorithm="reno", directions="reverse",
            reverse_rate=f"{path.rate} Mbit/s",
        ),
    )  # fmt: skip


def _full(draw: Draw) -> Known:
    path = _Link.of(draw, slow=True)
    algorithm, streams = draw.choice(["reno", "cubic", "bbr", "htcp"]), draw.choice([1, 1, 2, 4])
    return _known(
        "nothing but the link, with queue enough", "bottleneck",
        path.given(algorithm=algorithm, streams=f"{streams}", queue=f"{draw.uniform(1, 3):.1f} BDP"),
    )  # fmt: skip


def _full_pairs(draw: Draw) -> Known:
    path = _Link.of(draw, slow=True)
    return _known(
        "two pairs with different round trips on one full link", "bottleneck",
        path.given(pair_delays=f"0 ms, {draw.randint(20, 80)} ms", algorithm=draw.choice(["reno", "cubic"])),
        pairs=2,
    )  # fmt: skip


def _full_back(draw: Draw) -> Known:
    path = _Link.of(draw, slow=True)
    return _known(
        "the link of the other direction is full", "bottleneck",
        path.given(directions="reverse", reverse_rate=f"{path.rate / 2:.2f} Mbit/s", queue="4 BDP"),
    )  # fmt: skip


def _short_queue(draw: Draw) -> Known:
    path = _Link.of(draw)
    return _known(
        "a queue of a part of the BDP overflows", "bottleneck",
        path.given(queue=f"{draw.uniform(0.15, 0.5):.2f} BDP", algorithm="reno", delay="60 ms", duration="10 s"),
    )  # fmt: skip


def _managed(draw: Draw) -> Known:
    path, ecn = _Link.of(draw, slow=True), draw.choice(["on", "off"])
    return _known(
        "the queue's discipline drops or marks before it is full", "bottleneck",
        path.given(qdisc=draw.choice(["codel", "fq_codel"]), ecn=ecn, queue="300 kB", algorithm="reno"),
    )  # fmt: skip


def _beside_udp(draw: Draw) -> Known:
    path = _Link.of(draw, slow=True)
    return _known(
        "UDP and TCP fill the link together", "bottleneck",
        path.given(udp_streams="1", udp_rate=f"{path.rate * draw.uniform(0.3, 0.6):.1f} Mbit/s"),
    )  # fmt: skip


def _growing(draw: Draw) -> Known:
    delay = draw.randint(400, 600)
    return _known(
        "a few round trips of slow start towards a large BDP", "growing",
        {"rate": "60 Mbit/s", "delay": f"{delay} ms", "duration": f"{5 * delay / 1000:.1f} s", "warmup": "1 s"},
    )  # fmt: skip


def _reordering(draw: Draw) -> Known:
    path = _Link(20, draw.randint(30, 60))
    return _known(
        "segments overtake others, and three duplicates count as a loss", "reordering",
        path.given(
            0.6, reorder=f"{draw.randint(3, 5)} %", algorithm="reno", tcp_recovery="0", tcp_max_reordering="3"
        ),
    )  # fmt: skip


def _timeouts(draw: Draw) -> Known:
    path = _Link.of(draw)
    return _known(
        "a third is lost, retransmissions too", "timeout",
        path.given(1, loss=f"{draw.randint(33, 40)} %", algorithm="reno", duration="10 s"),
    )  # fmt: skip


def _application(draw: Draw) -> Known:
    return _known(
        "single bytes are written, each a system call", "application",
        {
            "rate": "50 Mbit/s", "delay": f"{draw.randint(5, 20)} ms", "length": "1 B", "duration": "1 s",
            "warmup": "1 s",
        },
    )  # fmt: skip


def _typed(draw: Draw) -> Known:
    path = _Link(round(draw.uniform(2, 3), 1), round(draw.uniform(60, 90)))
    base = path.given()
    iperf = "iperf3 -c $h2 -t 5 -C reno"
    share = draw.uniform(0.25, 0.6)
    fq = f"sudo tc qdisc replace dev h1-eth0 root fq maxrate {share * path.rate * 1000:.0f}kbit"
    lossy = (
        f"sudo tc qdisc replace dev h1-eth0 root netem loss {draw.uniform(1.5, 3):.1f}% limit 5000 && {iperf}"
    )
    ways = {
        "typed: fq lets a part of the link out": ("pacing", f"{fq} && {iperf}"),
        "typed: the application paces": ("pacing", f"{iperf} --fq-rate {share * path.rate:.2f}M"),
        "typed: nothing but the link": ("bottleneck", iperf),
        "typed: socket buffers of a part of the BDP": (
            "receive-window send-buffer",
            f"{iperf} -w {max(6, share / 2 * path.bdp / 1024):.0f}K",
        ),
        "typed: random loss": ("random-loss", lossy),
        "typed: iperf3 writes at a part of the link's rate": (
            "application",
            f"{iperf} -b {share * path.rate:.2f}M",
        ),
    }
    why = draw.choice(list(ways))
    causes, typed = ways[why]
    return _known(why, causes, base, typed=typed)


KINDS: tuple[Callable[[Draw], Known], ...] = (
    _window, _window_pairs, _fq_back, _send_buffer, _paced, _fq, _fq_pairs, _both_pace, _loss, _loss_pairs,
    _loss_back, _full, _full_pairs, _full_back, _short_queue, _managed, _beside_udp, _growing, _reordering, _timeouts,
    _application, _typed, _typed, _typed,
)  # fmt: skip
"""Each is drawn about as often; shell runs three times as often."""


def drawn(seed: int, count: int = COUNT) -> Iterator[Known]:
    """The experiments of one seed, which come out the same each time."""
    for number in range(count):
        draw = Draw(f"{seed} {number}")
        one = KINDS[number % len(KINDS)](draw)
        yield one._replace(experiment=replace(one.experiment, seed=draw.randrange(1 << 30)))


def wrong(known: Known, found: Report) -> str:
    """What the verdict has wrong; empty where it has the cause."""
    return "" if found.verdict.limited_by in known.causes else found.verdict.limited_by


async def _by_hand(known: Known) -> Run:
    """In a shell of h1, on the real clock: the first run that comes of it."""
    backend = GuestBackend("real")
    try:
        environment = await backend.open()
        async with backend.session(known.experiment) as session:
            terminal = session.shell("h1", 24, 100)
            reading = asyncio.create_task(_drain(terminal))
            terminal.write(f"{SERVER}; {known.typed}\n".encode())
            recording: Recording | None = None
            async with asyncio.timeout(patience.seconds(60)):
                async for event in session:
                    if isinstance(event, RunDetected) and recording is None:
                        recording = Recording(event.experiment, environment)
                    elif recording is not None:
                        recording.take(event)
                        if isinstance(event, Finished):
                            break
            await session.leave()
            reading.cancel()
            if recording is None:
                raise TutorError("no run came of it")
            return recording.run
    finally:
        await backend.close()


async def _drain(terminal: LabTerminal) -> None:
    while await terminal.read():
        pass


async def _made(known: Known) -> Run:
    if known.typed:
        made = await _by_hand(known)
        for _ in range(_AGAIN):
            # On the real clock a machine without time for it limits a run more than anything else.
            if not any("processor was busy" in reason for reason in made.fidelity.reasons):
                break
            made = await _by_hand(known)
        return made
    backend = GuestBackend("virtual")
    try:
        return await play(backend, known.experiment)
    finally:
        await backend.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.validation.causes", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "tcptutor-causes")
    parser.add_argument("--score", action="store_true", help="run nothing: only those that are there")
    asked = parser.parse_args()
    folder = asked.folder / f"seed-{asked.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    right = total = 0
    for number, known in enumerate(drawn(asked.seed, asked.count)):
        file = folder / f"{number:02}.tcprun"
        if not file.exists():
            if asked.score:
                continue
            try:
                runs.save(asyncio.run(_made(known)), file)
            except (TutorError, TimeoutError) as error:
                print(f"{number:02} not run: {error}", flush=True)
                continue
        found = report(runs.load(file))
        missed = wrong(known, found)
        right, total = right + (not missed), total + 1
        mark = f"WRONG: {missed}, not {' or '.join(known.causes)}" if missed else known.causes[0]
        print(f"{number:02} {mark}: {known.why} | {found.verdict.sentence}", flush=True)
    print(f"{right} of {total} right")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
