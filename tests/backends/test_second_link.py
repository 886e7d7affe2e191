"""Two bottlenecks in a row: a run of three flows, of which one crosses both, from the kernel to the screen."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio

from tcptutor import spec
from tcptutor.analysis import Instants, insight, report
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.grading.evidence.physics import impossibilities
from tcptutor.run import Run
from tcptutor.run.files import load, save
from tests.backends.play import play

pytestmark = pytest.mark.guest

ASKED = {
    "rate": "10 Mbit/s", "delay": "10 ms", "second_rate": "5 Mbit/s", "second_delay": "10 ms", "algorithm": "reno",
    "crosses": "both, first, second", "duration": "8 s", "warmup": "2 s", "queue": "60 kB", "second_queue": "30 kB",
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def run(_worker_guest: GuestBackend) -> Run:
    return await play(_worker_guest, spec.build("test/second-link", {"parameters": ASKED | {"pairs": "3"}}))


def test_both_links_carry_their_rate_and_the_flows_cross_the_ones_they_should(run: Run) -> None:
    assert (run.fidelity.status, run.fidelity.reasons) == ("valid", ())
    over_both, over_first, over_second = (flow.throughput_bps for flow in run.flows)
    assert over_both + over_first == pytest.approx(10e6 * 1448 / 1514, rel=0.03)
    assert over_both + over_second == pytest.approx(5e6 * 1448 / 1514, rel=0.03)
    assert over_both < over_second < over_first
    sizes = [max(queue.column("bytes")) for queue in run.queues]
    assert sizes[0] == pytest.approx(60_000, abs=2_000)
    assert sizes[1] == pytest.approx(30_000, abs=2_000)
    assert [*impossibilities(run)] == []


def test_the_verdict_names_both_links_and_gives_the_shares_as_references(run: Run) -> None:
    found = report(run)
    assert found.verdict.sentence.startswith("s1 to s2: ")
    assert "s2 to s3 is full too" in found.verdict.sentence
    assert [flow.limited_by for flow in found.verdict.flows] == ["bottleneck"] * 3
    assert [each.prediction.model for each in found.comparisons] == ["square-root", "max-min", "proportional"]
    assert not any(each.within for each in found.comparisons)
    assert found.verdict.evidence is not None
    assert 0 < found.verdict.evidence.queue_drops < sum(queue.column("drops")[-1] for queue in run.queues)
    first, second = found.latency.queueing, found.latency.queueing_second
    assert first is not None
    assert second is not None
    assert 0.02 < (first.max_s or 0) < 0.05
    assert 0.02 < (second.max_s or 0) < 0.05


def test_every_loss_of_a_flow_comes_from_a_queue_that_it_crosses(run: Run) -> None:
    known = insight(run)
    assert all(loss.kind == "bottleneck" for losses in known.losses.values() for loss in losses)
    instant = Instants(run).at(6.0, 0.2)
    assert [queue.size for queue in instant.queues] == [60_000, 30_000]


def test_a_file_keeps_the_second_queue(run: Run, tmp_path: Path) -> None:
    save(run, tmp_path / "run.tcprun")
    assert [*load(tmp_path / "run.tcprun").queue_second] == [*run.queue_second]
