"""flent's data files. The stored one was written by flent 2.3.0's own ResultSet, with the numbers of a run of ours."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcptutor.base.errors import TutorError
from tcptutor.run import load

from .places import FILES, RUNS, import_run

FILE = FILES / "flent-4-tcp_nup.flent.gz"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[Callable[[dict[str, Any]], object]], Path]:
    """The stored file with something changed in it."""

    def make(change: Callable[[dict[str, Any]], object]) -> Path:
        data = json.loads(gzip.decompress(FILE.read_bytes()))
        change(data)
        path = tmp_path / "changed.flent.gz"
        path.write_bytes(gzip.compress(json.dumps(data).encode()))
        return path

    return make


def test_the_flows_are_as_they_were_measured() -> None:
    run, measured = import_run(FILE), load(RUNS / "four-lossy-streams.tcprun")
    assert run.experiment.name == "imported/flent-4-tcp_nup"
    assert run.note == "imported from flent 2.3.0"
    assert (run.experiment.flows.streams, run.experiment.hosts.algorithm) == (4, "reno")
    assert [flow.retransmits for flow in run.flows] == [7] * 4
    for flow in run.flows:
        # The file has the seconds 5 to 13 of that run.
        mine = [row for row in measured.samples if row.flow == flow.flow and 5 <= row.t <= 13]
        sent = mine[-1].bytes_acked - mine[0].bytes_acked
        last = [row for row in run.samples if row.flow == flow.flow][-1]
        assert last.bytes_acked == pytest.approx(sent, rel=0.03)
        assert flow.mean_rtt_s == pytest.approx(0.05, abs=0.002)
        assert flow.mean_cwnd_segments == pytest.approx(sum(row.cwnd for row in mine) / len(mine), rel=0.1)
    # The pings began two seconds before the flows.
    assert run.samples[0].t == pytest.approx(2, abs=0.1)


def test_series_that_flent_computes_are_no_flows() -> None:
    assert import_run(FILE).experiment.flows.streams == 4  # beside "avg" and "sum"


def test_format_1_has_its_raw_values_elsewhere(changed: Any) -> None:
    def older(data: dict[str, Any]) -> None:
        for name, values in data.pop("raw_values").items():
            data["metadata"]["SERIES_META"].setdefault(name, {})["RAW_VALUES"] = values
        data["metadata"]["NETPERF_WRAPPER_VERSION"] = data["metadata"].pop("FLENT_VERSION")
        del data["version"]

    run = import_run(changed(older))
    assert [flow.throughput_bps for flow in run.flows] == [
        flow.throughput_bps for flow in import_run(FILE).flows
    ]
    assert run.note == "imported from flent 2.3.0"


def test_without_raw_values_the_interpolated_ones_do(changed: Any) -> None:
    def oldest(data: dict[str, Any]) -> None:
        data["raw_values"] = {}
        data["version"] = 1

    run = import_run(changed(oldest))
    for ours, best in zip(run.flows, import_run(FILE).flows, strict=True):
        assert ours.throughput_bps == pytest.approx(best.throughput_bps, rel=0.25)
    assert "--socket-stats" in run.note


def test_downloads_run_the_other_way(changed: Any) -> None:
    def turned(data: dict[str, Any]) -> None:
        for part in (data["results"], data["raw_values"], data["metadata"]["SERIES_META"]):
            part["TCP download::1"] = part.pop("TCP upload::1")

    assert import_run(changed(turned)).experiment.flows.directions == (
        "reverse",
        "forward",
        "forward",
        "forward",
    )


def test_bzip2_and_plain_files_are_read_as_well(tmp_path: Path) -> None:
    text = gzip.decompress(FILE.read_bytes())
    for name, data in (("a.flent.bz2", bz2.compress(text)), ("a.flent", text)):
        (tmp_path / name).write_bytes(data)
        assert import_run(tmp_path / name).flows == import_run(FILE).flows


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(version=5), "format 5.*update tcptutor"),
        (lambda data: data.update(x_values="no"), "damaged"),
        (
            lambda data: [data["results"].pop(name) for name in list(data["results"]) if "TCP" in name],
            "no TCP flow",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(changed: Any, change: Any, says: str) -> None:
    with pytest.raises(TutorError, match=says) as caught:
        import_run(changed(change))
    assert "\n" not in str(caught.value)


def test_a_file_cut_short_is_told(tmp_path: Path) -> None:
    for share in (0.001, 0.5, 0.99):
        part = tmp_path / "part.flent.gz"
        data = FILE.read_bytes()
        part.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(TutorError, match="damaged"):
            import_run(part)


def test_what_sent_beside_the_tcp_flows_is_said_to_be_left_out(changed) -> None:
    def beside(data: dict[str, Any]) -> None:
        data["results"] |= {"VoIP::delay": [1.0], "VoIP::loss": [0.0], "Ping (ms) ICMP": [1.0]}

    assert import_run(changed(beside)).note.endswith("; VoIP in it is not read: only TCP is")
    assert "not read" not in import_run(FILE).note


def test_statistics_of_a_socket_that_go_on_are_not_the_flow_s_time(changed: Any) -> None:
    """flent reads the socket for two seconds more than it sends: 60 of 62 s would be 3 % too low."""

    def longer(data: dict[str, Any]) -> None:
        for name, points in data["raw_values"].items():
            if name.startswith("TCP"):
                points += [
                    {"t": points[-1]["t"] + more, "tcp_cwnd": 10.0, "tcp_rtt": 50.0} for more in (1, 2)
                ]

    assert [flow.throughput_bps for flow in import_run(changed(longer)).flows] == [
        flow.throughput_bps for flow in import_run(FILE).flows
    ]


def test_what_flent_was_not_told_is_unknown(changed: Any) -> None:
    def plain(data: dict[str, Any]) -> None:
        for part in (data["results"], data["raw_values"], data["metadata"]["SERIES_META"]):
            part["TCP download::1"] = part.pop("TCP upload::1")
        for meta in data["metadata"]["SERIES_META"].values():
            if "TCP_RETRANSMIT" in meta:
                meta["TCP_RETRANSMIT"] = "-1"

    download, upload, *_ = import_run(changed(plain)).flows
    assert (download.retransmits, upload.retransmits, upload.losses) == (None, None, None)
    assert (download.receiver_bps, upload.receiver_bps) == (download.throughput_bps, None)


def test_a_flow_s_throughput_is_netperf_s_own_total(changed: Any) -> None:
    """Its reports count what was written; the total waits until the receiver has all."""
    plain = [flow.throughput_bps for flow in import_run(FILE).flows]

    def told(data: dict[str, Any]) -> None:
        series = data["metadata"]["SERIES_META"]
        names = [f"TCP upload::{number}" for number in (1, 2, 3, 4)]
        for name in names:
            series.setdefault(name, {}).pop("MEAN_VALUE", None)
            series[name]["UNITS"] = "Mbits/s"
        series[names[0]]["MEAN_VALUE"] = 0.9e-6 * plain[0]
        series[names[1]].update(BYTES_RECVD=str(0.8 * plain[1] * 10 / 8), ELAPSED_TIME=10.0, MEAN_VALUE=99.0)
        series[names[2]]["MEAN_VALUE"] = 1e-4  # of a flow that netperf did not end

    flows = import_run(changed(told)).flows
    assert [flow.throughput_bps for flow in flows] == pytest.approx(
        [0.9 * plain[0], 0.8 * plain[1], plain[2], plain[3]]
    )
    assert [flow.receiver_bps for flow in flows] == [None, pytest.approx(0.8 * plain[1]), None, None]
