"""What is expected and said of UDP: its own rate, what link and path leave of it, and where the rest was lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tcptutor.analysis import expect, measure, report
from tcptutor.analysis.compared.clauses import direction_sentence
from tcptutor.analysis.expected.sharing import expect_udp
from tcptutor.analysis.observed.figures import UdpLosses, udp_losses
from tcptutor.exchange import export
from tcptutor.run import Fidelity, QueueSample, QueueTable, Run, UdpResult, UdpSample, load, save
from tcptutor.runs.store import RunStore
from tests.analysis.synthetic import empty, experiment, run_of

ALONE = {"streams": "0", "udp_streams": "1", "rate": "10 Mbit/s"}
PAYLOAD = 1448 / (1448 + 28 + 14)


def expected(**parameters: str) -> float:
    found = expect_udp(experiment(**ALONE | parameters))
    assert found is not None
    return found.received_bps


def run(
    lost: int, queue: int = 0, path: int = 0, socket: int = 0, firewall: int = 0, **parameters: str
) -> Run:
    """Ten thousand datagrams, `lost` of them by the counts of each place."""
    made = empty(experiment(**ALONE | parameters), complete=True)
    arrived = 8e6 * (1 - lost / 10_000)
    made.udp = [
        UdpResult(
            pair=0, sent_bps=8e6, received_bps=arrived, lost=lost, datagrams=10_000, jitter_s=1e-4, overruns=socket
        )
    ]  # fmt: skip
    made.queue = QueueTable([QueueSample(0.0, 0, 0, 0, 0), QueueSample(10.0, 0, 0, queue, 0)])
    made.fidelity = Fidelity(status="valid", checks={"random drops": path, "firewall drops": firewall})
    return made


def losses(run: Run) -> UdpLosses:
    found = udp_losses(measure(run))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("parameters", "bps"),
    [
        ({"udp_rate": "4 Mbit/s"}, 4e6),
        ({"udp_rate": "4 Mbit/s", "loss": "3 %"}, 4e6 * 0.97),
        ({"udp_rate": "4 Mbit/s", "loss": "3 %", "loss_by": "firewall"}, 4e6 * 0.97),
        ({"udp_rate": "40 Mbit/s"}, 10e6 * PAYLOAD),
        # What netem drops before the queue makes room there; what a firewall drops behind it does not.
        ({"udp_rate": "40 Mbit/s", "loss": "3 %"}, 10e6 * PAYLOAD),
        ({"udp_rate": "40 Mbit/s", "loss": "3 %", "loss_by": "firewall"}, 10e6 * PAYLOAD * 0.97),
        ({"udp_rate": "3 Mbit/s", "udp_streams": "5"}, 10e6 * PAYLOAD),
        ({"udp_rate": "8 Mbit/s", "maxrate": "5 Mbit/s"}, 5e6 * PAYLOAD),
        # Served in turn with three flows of TCP, it gets a quarter.
        ({"udp_rate": "8 Mbit/s", "streams": "3", "qdisc": "fq"}, 2.5e6 * PAYLOAD),
        ({"udp_rate": "1 Mbit/s", "streams": "3"}, 1e6),
    ],
)
def test_it_gets_what_it_sends_or_what_the_link_carries(parameters: dict[str, str], bps: float) -> None:
    assert expected(**parameters) == pytest.approx(bps, rel=1e-3)


def test_nothing_is_expected_where_nothing_can_be() -> None:
    assert expect_udp(experiment()) is None
    assert (
        expect_udp(replace(experiment(**ALONE), flows=replace(experiment(**ALONE).flows, udp_rate=0.0)))
        is None
    )


def test_jitter_is_expected_where_it_is_the_paths_own() -> None:
    found = expect_udp(experiment(**ALONE, jitter="3 ms", delay="20 ms"))
    full = expect_udp(experiment(**ALONE, jitter="3 ms", delay="20 ms", udp_rate="20 Mbit/s"))
    assert found is not None
    assert full is not None
    assert found.jitter_s == pytest.approx(0.002)
    assert full.jitter_s is None


def test_a_run_of_udp_alone_is_compared_with_what_was_expected() -> None:
    made = run(lost=10, path=10, udp_rate="8 Mbit/s", loss="0.1 %")
    told = report(made)
    assert told.throughput_bps == pytest.approx(8e6 * 0.999)
    (only,) = told.comparisons
    assert (only.prediction.model, only.within) == ("udp", True)
    assert only.ratio == pytest.approx(1)
    assert told.verdict.limited_by == "application"
    assert expect(made.experiment).note == ""


@pytest.mark.parametrize(
    ("counted", "said", "limit"),
    [
        ({"lost": 0}, " and all of it arrived", "application"),
        ({"lost": 12, "path": 12}, ", 7.99 Mbit/s arrived: 12 of 10000 lost on the path", "application"),
        ({"lost": 2000, "queue": 2000}, ": 20 % lost in the queue", "bottleneck"),
        ({"lost": 2000, "socket": 2000}, ": 20 % lost in the receiver's full buffer", "application"),
        (
            {"lost": 2000, "queue": 1200, "path": 800},
            ": 20 % lost in the queue and on the path",
            "bottleneck",
        ),
        ({"lost": 2000}, ", 6.4 Mbit/s arrived: 20 % lost", "application"),
        ({"lost": 300, "firewall": 300}, ": 3 % lost at the firewall", "application"),
    ],
)
def test_where_it_was_lost_is_said(counted: dict[str, object], said: str, limit: str) -> None:
    verdict = report(run(**counted)).verdict  # type: ignore[arg-type]
    assert verdict.sentence.startswith("UDP sent 8 Mbit/s")
    assert verdict.sentence.endswith(said)
    assert verdict.limited_by == limit


@given(st.integers(0, 9000), *[st.integers(0, 3000)] * 3)
def test_no_place_is_named_that_counted_nothing(lost: int, queue: int, path: int, socket: int) -> None:
    said = direction_sentence(losses(run(lost, queue, path, socket)))
    assert ("queue" in said) <= bool(lost and queue)
    assert ("path" in said) <= bool(lost and path)
    assert ("buffer" in said) <= bool(lost and socket)
    assert ("lost" in said) == bool(lost)
    assert len(said) <= 120


def test_beside_tcp_its_loss_is_added() -> None:
    made = run_of(experiment(udp_streams="2"), 80e6)
    lossless = report(made).verdict.sentence
    made.udp = [UdpResult(pair=0, sent_bps=1e6, received_bps=0.9e6, lost=100, datagrams=1000, jitter_s=None)]
    made.queue = QueueTable([QueueSample(0.0, 0, 0, 0, 0), QueueSample(10.0, 0, 0, 300, 0)])
    assert "UDP" not in lossless
    assert report(made).verdict.sentence.endswith("; UDP lost 10 % in the queue")
    assert losses(made).loss_rate == pytest.approx(0.1)


def sampled(warmup: str = "0 s", jitter: float | None = None) -> Run:
    """Two flows of 100 datagrams of 1000 bytes a second; of the second a tenth is lost. Its end has not arrived."""
    made = empty(experiment(**ALONE | {"udp_streams": "2", "duration": "4 s", "warmup": warmup}))
    for step in range(1, 21):
        sent = 20 * step
        rows = [(flow, sent // 10 * flow) for flow in (0, 1)]
        made.udp_samples.extend(
            UdpSample(flow, step / 5, 1000 * (sent - lost), sent, lost, jitter) for flow, lost in rows
        )
    return made


def test_a_run_that_was_cut_off_has_what_its_samples_tell(tmp_path: Path) -> None:
    cut = sampled(warmup="1 s")
    assert cut.udp == []
    assert direction_sentence(losses(cut)) == "2 UDP flows sent 1.6 Mbit/s, 1.52 Mbit/s arrived: 5 % lost"
    assert report(cut).throughput_bps == pytest.approx(1.52e6)
    store = RunStore(tmp_path)
    store.begin(cut)
    assert load(tmp_path / store.finish(cut)) == cut


@pytest.mark.parametrize("jitter", [None, 0.25])
def test_what_is_not_known_of_jitter_is_nothing_and_not_zero(tmp_path: Path, jitter: float | None) -> None:
    run = sampled(jitter=jitter)
    save(run, tmp_path / "x.tcprun")
    again = load(tmp_path / "x.tcprun")
    assert again.udp_samples == run.udp_samples
    assert [row.jitter for row in again.udp_samples] == [jitter] * 40
    assert again.udp_samples[0].jitter == jitter
    text = export.as_json(again, None)
    assert json.loads(text)["udp_samples"]["jitter"] == [jitter] * 40
    table = export.as_csv(export.tables(again)["udp_samples"]).splitlines()
    assert table[0] == "flow,t (s),received (bytes),datagrams,lost (datagrams),jitter (s)"
    assert table[1] == f"1,0.2,20000,20,0,{'' if jitter is None else jitter}"
