"""Files of other programs that leave something out, contradict themselves, or come packed: nothing unknown is 0."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.analysis import document, report
from tcptutor.base.errors import TutorError
from tcptutor.exchange import export, import_runs, plot
from tcptutor.exchange.curves import QUANTITIES
from tcptutor.exchange.iperf3_document import find_perfsonar_result
from tcptutor.run import Run

from .places import FILES, import_run

WHOLE = FILES / "iperf3-3.12-omit.json"


def run_of(name: str, **path: str) -> Run:
    return import_run(FILES / f"{name}.json", path)


def test_udp_at_its_receiver_tells_what_arrived_and_not_what_was_sent() -> None:
    """The server's summary says 0 bytes; its intervals and `sum_received` have 7,080,720."""
    run = run_of("iperf3-3.12-udp-server")
    (flow,) = run.udp
    assert flow.received_bps == pytest.approx(18_532_641, rel=1e-3)
    assert (flow.sent_bps, flow.lost, flow.datagrams) == (None, 2876, 7766)
    assert report(run).verdict.sentence == "UDP: 18.5 Mbit/s arrived: 37 % lost"


def test_udp_of_a_server_that_sends_does_not_tell_what_arrived(tmp_path: Path) -> None:
    client = json.loads((FILES / "iperf3-3.12-udp-reverse-client.json").read_text())
    peer = client["start"].pop("connecting_to")
    client["start"]["accepted_connection"] = peer
    for row in (row for interval in client["intervals"] for row in interval["streams"]):
        row.update(sender=True, bytes=3_750_000)
        row.pop("jitter_ms"), row.pop("lost_packets")
    client["end"]["streams"][0]["udp"].update(sender=True, jitter_ms=0, lost_packets=0)
    file = tmp_path / "server.json"
    file.write_text(json.dumps(client))
    run = import_run(file)
    (flow,) = run.udp
    assert flow.reverse
    assert flow.sent_bps == pytest.approx(30e6, rel=0.01)
    assert (flow.received_bps, flow.lost, flow.jitter_s) == (None, None, None)
    assert report(run).verdict.sentence == "UDP sent 29.9 Mbit/s: what arrived is not known"
    (udp,) = document(run, None)["udp"]  # type: ignore[misc]
    assert (udp["received_bps"], udp["loss_rate"]) == (None, None)


def test_udp_at_the_client_that_receives() -> None:
    (flow,) = run_of("iperf3-3.12-udp-reverse-client").udp
    assert flow.received_bps == pytest.approx(16_677_912, rel=0.01)
    assert flow.sent_bps == pytest.approx(30e6, rel=0.001)
    assert (flow.lost, flow.datagrams) == (3257, 7788)


def test_udp_both_ways_keeps_its_directions() -> None:
    run = run_of("iperf3-3.12-udp-bidir", rate="20 Mbit/s", reverse_rate="20 Mbit/s")
    assert [flow.reverse for flow in run.udp] == [False, True]
    assert [flow.received_bps for flow in run.udp] == [pytest.approx(19.9e6, rel=0.05)] * 2
    told = report(run)
    assert told.comparisons == ()
    assert told.verdict.sentence.startswith("forward, UDP sent 29.6 Mbit/s, 19.9 Mbit/s arrived")
    assert "; reverse, UDP sent 30 Mbit/s, 19 Mbit/s arrived" in told.verdict.sentence


@pytest.mark.parametrize("name", ["iperf3-3.9-tcp-server-no-retransmits", "iperf3-3.19.1-macos"])
def test_what_the_writer_cannot_know_is_unknown(name: str) -> None:
    """The client's file of the same test tells 2,395 retransmissions."""
    run = run_of(name)
    for flow in run.flows:
        unknown = (flow.retransmits, flow.losses, flow.segments, flow.mean_rtt_s, flow.mean_cwnd_segments)
        assert unknown == (None,) * 5
    told = report(run)
    assert (told.retransmits, told.loss_events, told.loss_rate) == (None, None, None)
    assert told.throughput_bps == pytest.approx(18.8e6, rel=0.01)
    whole = json.dumps(document(run, None))
    assert not re.search(r'"(retransmits|losses|loss_events|mean_rtt_s|rtt_s|stalled|timeouts)": 0', whole)


def test_the_sender_s_own_file_is_not_said_to_be_another_s() -> None:
    run = run_of("iperf3-3.19.1-macos")
    assert run.environment.system == "Darwin 23.5.0"
    assert "take its file" not in run.note


def test_a_value_that_is_no_number_costs_nothing_else() -> None:
    run = run_of("iperf3-3.0.11-udp-server-nan")
    assert run.complete
    assert run.udp[0].received_bps == pytest.approx(9_537_980, rel=1e-3)
    assert len(run.udp_samples) == 5


@pytest.mark.parametrize("word", ["nan", "-nan", "inf", "-inf", "NaN", "-nan(ind)", "Infinity"])
def test_an_interval_without_bytes_is_left_out_and_said_to_be(tmp_path: Path, word: str) -> None:
    def odd(text: str) -> str:
        return re.sub(
            r'("bytes":\s*)\d+(,\s*"bits_per_second":\s*)[\d.e+]+', rf"\g<1>{word}\g<2>{word}", text, count=1
        )

    file = tmp_path / "x.json"
    file.write_text(odd(WHOLE.read_text()))
    run = import_run(file)
    assert run.complete
    assert "1 intervals have no bytes" in run.note
    assert len(run.samples) == len(import_run(WHOLE).samples) - 1


def test_a_server_that_was_killed_leaves_the_sender_s_seconds() -> None:
    run = run_of("iperf3-3.9-server-killed")
    (flow,) = run.flows
    assert not run.complete
    assert flow.throughput_bps == pytest.approx(23_004_927)
    assert (flow.receiver_bps, flow.retransmits) == (None, 210)


def test_ten_kilobytes_on_a_lan() -> None:
    run = run_of("iperf3-3.9-n10K")
    (flow,) = run.flows
    assert flow.throughput_bps == pytest.approx(4_628_467)
    assert (flow.retransmits, flow.mean_rtt_s) == (0, pytest.approx(23e-6))


def test_a_test_with_an_amount_to_send_lasts_as_long_as_it_took() -> None:
    run = run_of("iperf3-3.1.3-n2M-server-duration10")
    assert run.experiment.flows.duration == pytest.approx(0.541, abs=0.001)
    assert run.flows[0].throughput_bps == run.flows[0].receiver_bps == pytest.approx(16_811_247)


def test_datagrams_that_were_counted_back() -> None:
    run = run_of("iperf3-3.9-udp-late-datagrams")
    assert (run.udp[0].lost, run.udp[0].datagrams) == (0, 2589)
    assert "4 datagrams" in run.note


def test_more_lost_than_sent_is_a_contradiction() -> None:
    run = run_of("iperf3-3.1.3-udp-omit-107percent")
    (flow,) = run.udp
    assert (flow.received_bps, flow.lost, flow.datagrams) == (None, None, 2257)
    assert "contradicts itself, 1412 of 1317 datagrams lost" in run.note


def test_both_ways_are_not_summed() -> None:
    told = report(run_of("iperf3-3.9-bidir-P2"))
    assert [round(each.throughput_bps / 1e6, 1) for each in told.directions] == [16.9, 18.6]
    assert [each.retransmits for each in told.directions] == [1007, 388]
    assert told.jain_index is None and told.cov_between is None


def test_a_missing_rate_of_one_direction_is_asked_for() -> None:
    run = run_of("iperf3-3.9-bidir-P2", rate="20 Mbit/s", delay="20 ms")
    told = report(run)
    assert told.comparisons == ()
    assert "--set reverse_rate=" in told.verdict.sentence and "--set reverse_rate=" in run.note
    both = report(run_of("iperf3-3.9-bidir-P2", rate="20 Mbit/s", reverse_rate="20 Mbit/s", delay="20 ms"))
    assert both.comparisons
    assert 0.9 < both.verdict.evidence.link_used <= 1  # type: ignore[union-attr,operator]


def test_no_link_is_more_than_full() -> None:
    told = report(run_of("iperf3-3.19.1-utf16le", rate="20 Mbit/s"))
    assert told.verdict.evidence is not None
    assert told.verdict.evidence.link_used == pytest.approx(18.73 / 18.83, abs=0.005)
    wrong = run_of("iperf3-3.19.1-utf16le", rate="2 Mbit/s")
    assert report(wrong).comparisons == ()
    assert "18.7 Mbit/s arrived, more than a link of 2 Mbit/s carries: check the rate" in wrong.note
    written = run_of("iperf3-3.9-server-killed", rate="20 Mbit/s")
    assert "what arrived is not in this file" in report(written).verdict.sentence


def test_nobody_gave_a_queue_or_a_seed() -> None:
    whole = document(run_of("iperf3-3.19.1-utf16le", rate="20 Mbit/s"), None)
    parameters = whole["parameters"]
    assert isinstance(parameters, dict)
    assert whole["seed"] is None and parameters["queue"] is None and parameters["rate"] == 20e6
    given = document(run_of("iperf3-3.19.1-utf16le", rate="20 Mbit/s", queue="50 kB"), None)["parameters"]
    assert isinstance(given, dict) and given["queue"] == 50_000


def test_perfsonar_s_throughput_result() -> None:
    run = run_of("perfsonar-throughput-result")
    (flow,) = run.flows
    assert flow.throughput_bps == pytest.approx(941e6)
    assert (flow.retransmits, flow.receiver_bps) == (3, None)
    assert run.environment.reason == "imported from perfSONAR"


@pytest.mark.parametrize(
    "text",
    [
        '{"start": "2025-11-02 10:00:00", "end": "2025-11-02 10:00:09", "rc": 0, "changed": true}',
        '{"intervals": [{"start": 0, "value": 3}], "end": 4}',
        '{"error": "no such host", "code": 7}',
        '{"end": {"offset": 3}}',
    ],
)
def test_json_of_something_else_is_not_iperf3_s(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(TutorError, match="JSON of something else"):
        import_runs(file)


LOGS: dict[str, Callable[[str], str]] = {
    "kubectl --timestamps": lambda line: f"2026-11-21T05:43:01.123456789Z {line}",
    "kubectl --prefix": lambda line: f"[pod/iperf3-7d9f/client] {line}",
    "journalctl": lambda line: f"Nov 21 05:43:01 host iperf3[4711]: {line}",
    "journalctl -o short-iso": lambda line: f"2026-11-21T05:43:01+0000 host iperf3[4711]: {line}",
    "docker compose": lambda line: f"client-1  | {line}",
    "containerd": lambda line: f"2026-11-21T05:43:01.123456789Z stdout F {line}",
    "docker's json-file": lambda line: json.dumps({"log": line + "\n", "stream": "stdout"}),
}


@pytest.mark.parametrize("name", LOGS)
def test_what_a_log_puts_in_front_of_each_line_does_no_harm(tmp_path: Path, name: str) -> None:
    file = tmp_path / "log.txt"
    file.write_text("\n".join(map(LOGS[name], WHOLE.read_text().splitlines())) + "\n")
    assert import_run(file).flows == import_run(WHOLE).flows


def test_output_that_another_program_holds_as_text(tmp_path: Path) -> None:
    file = tmp_path / "ansible.json"
    file.write_text(json.dumps({"changed": True, "rc": 0, "stdout": WHOLE.read_text()}))
    assert import_run(file).flows == import_run(WHOLE).flows


def test_an_export_of_a_file_has_nothing_where_it_tells_nothing() -> None:
    server = run_of("iperf3-3.9-tcp-server-no-retransmits")
    rows = list(csv.DictReader(io.StringIO(export.as_csv(server.samples, server))))
    assert {row["flow"] for row in rows} == {"1", "2", "3"}
    assert {
        row[name] for row in rows for name in ("rtt (s)", "cwnd (segments)", "retransmits (segments)")
    } == {""}
    assert {row["total_rto"] for row in rows} == {""}
    samples = json.loads(export.as_json(run_of("iperf3-3.19.1-utf16le"), None))["samples"]
    assert set(samples["flow"]) == {1, 2, 3}
    assert max(samples["retransmits"]) == 1204 and set(samples["busy"]) == {None}


def test_flows_are_counted_from_1() -> None:
    whole = json.loads(json.dumps(document(run_of("iperf3-3.9-bidir-P2"), None)))
    assert [flow["flow"] for flow in whole["flows"]] == [1, 2, 3, 4]
    assert [flow["flow"] for flow in whole["verdict"]["flows"]] == [1, 2, 3, 4]
    assert set(whole["verdict"]["fairness"][0]["shares"]) == {"1", "2", "3", "4"}
    assert [
        flow["flow"]
        for flow in json.loads(json.dumps(document(run_of("iperf3-3.12-udp-bidir"), None)))["udp"]
    ] == [1, 2]


def test_udp_can_be_plotted(tmp_path: Path) -> None:
    plot.plot([run_of("iperf3-3.12-udp-server")], tmp_path / "out.svg")
    assert (tmp_path / "out.svg").stat().st_size > 10_000
    curves = {name: make(run_of("iperf3-3.12-udp-server"), False) for name, make in QUANTITIES.items()}
    assert {name for name, found in curves.items() if found} == {"udp", "udp-lost", "udp-jitter"}
    (received,), (lost,) = curves["udp"], curves["udp-lost"]
    assert received.points[0][1] == pytest.approx(17_397_812, rel=1e-4)
    assert lost.points[-1][1] == 2876
    with pytest.raises(TutorError, match="lacks the received UDP"):
        plot.plot([run_of("iperf3-3.1.3-udp-omit-107percent")], tmp_path / "none.svg")


def zipped(data: bytes, names: tuple[str, ...] = ("a.json",)) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, data)
    return whole.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "two streams of xz": lambda data: lzma.compress(data[:999]) + lzma.compress(data[999:]),
    "zip": zipped,
    "UTF-8 with a mark": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16LE": lambda data: b"\xff\xfe" + data.decode().encode("utf-16-le"),
    "UTF-16BE": lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"),
    "UTF-16LE without a mark": lambda data: data.decode().encode("utf-16-le"),
}


@pytest.mark.parametrize("how", PACKED)
def test_however_a_file_is_packed_and_encoded(tmp_path: Path, how: str) -> None:
    file = tmp_path / "packed"
    file.write_bytes(PACKED[how](WHOLE.read_bytes()))
    assert import_run(file).flows == import_run(WHOLE).flows


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "two files": (lambda: zipped(b"{}", ("a.json", "b.json")), "zip of 2 files"),
    "cut short": (lambda: zipped(WHOLE.read_bytes())[:400], "cannot be unpacked"),
    "much in xz": (lambda: lzma.compress(b" " * (80 << 20)), "larger than"),
    "much in zip": (lambda: zipped(b" " * (80 << 20)), "larger than"),
    "zstd": (lambda: b"\x28\xb5\x2f\xfd" + bytes(20), "packed with zstd: unpack it first"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_packed_file_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, how: str) -> None:
    pack, says = REFUSED[how]
    file = tmp_path / "packed"
    file.write_bytes(pack())
    with pytest.raises(TutorError, match=says) as caught:
        import_runs(file)
    assert "\n" not in str(caught.value)


def trimmed(name: str, **kept: object) -> dict[str, object]:
    """A test of which somebody kept the sums only."""
    whole = json.loads((FILES / name).read_text())
    sums = {key: value for key, value in whole["end"].items() if key.startswith("sum")}
    whole["start"]["test_start"].update(kept)
    return {"start": whole["start"], "intervals": [], "end": sums}


def test_the_sums_of_one_stream_are_that_stream(tmp_path: Path) -> None:
    test, file = trimmed("iperf3-3.12-reverse.json"), tmp_path / "sums.json"
    file.write_text(json.dumps(test))
    run = import_run(file)
    (flow,) = run.flows
    assert flow.throughput_bps == pytest.approx(test["end"]["sum_received"]["bits_per_second"])  # type: ignore[index]
    assert flow.retransmits == test["end"]["sum_sent"]["retransmits"]  # type: ignore[index]
    assert (flow.mean_rtt_s, flow.mean_cwnd_segments, flow.losses) == (None, None, None)
    assert run.experiment.flows.directions == ("reverse",)
    assert "only the sums" in run.note


def test_the_sums_of_a_udp_stream_are_that_stream(tmp_path: Path) -> None:
    file = tmp_path / "sums.json"
    counts = {
        "start": 0,
        "end": 30.0,
        "seconds": 30.0,
        "lost_packets": 47,
        "packets": 423339,
        "jitter_ms": 0.031,
    }
    sent = counts | {"bytes": 3_468_750_000, "bits_per_second": 925e6, "sender": True}
    received = counts | {"bytes": 3_468_365_056, "bits_per_second": 924_897_236.27}
    begun = {"version": "iperf 3.16", "test_start": {"protocol": "UDP", "num_streams": 1, "duration": 30}}
    end = {"sum_sent": sent, "sum_received": received}
    file.write_text(json.dumps({"start": begun, "intervals": [], "end": end}))
    (flow,) = import_run(file).udp
    assert (flow.sent_bps, flow.lost, flow.datagrams) == (925e6, 47, 423339)
    assert flow.received_bps == pytest.approx(924_897_236.27)


@pytest.mark.parametrize("streams", [4, None])
def test_the_sums_of_other_streams_are_refused_with_the_reason(tmp_path: Path, streams: int | None) -> None:
    file = tmp_path / "sums.json"
    file.write_text(json.dumps(trimmed("iperf3-3.12-reverse.json", num_streams=streams)))
    with pytest.raises(TutorError, match=r"only the sums .* give all that iperf3 -J printed$"):
        import_runs(file)


def test_tests_inside_the_json_of_another_program_are_read(tmp_path: Path) -> None:
    whole, file = json.loads(WHOLE.read_text()), tmp_path / "campaign.json"
    sums = {"end": {"sum_sent": {"bits_per_second": 1e9}, "sum_received": {"bits_per_second": 1e9}}}
    other = whole | {"start": whole["start"] | {"cookie": "another test's"}}
    cases = [{"success": True, "result": each} for each in (whole, sums, other)]
    file.write_text(json.dumps({"error": "none", "cases": cases, "printed": WHOLE.read_text()}))
    runs = import_runs(file)
    plain = import_run(WHOLE)
    assert [run.flows for run in runs] == [plain.flows] * 3
    assert "test 2: it has only the sums" in runs[0].note


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('["MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 port 20001", "Throughput,"]', "netperf"),
        ("TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET\n 87380  16384  16384    10.00", "netperf"),
        ("  216.8125 MB /   1.00 sec = 1817.8571 Mbps    45 retrans    206 KB-cwnd\n", "nuttcp"),
        ("\t cubic wscale:7,7 rto:204 rtt:0.5/0.25 mss:1448 cwnd:10 bytes_acked:1\n", "output of ss"),
        ("64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.05 ms\n", "ping"),
    ],
)
def test_what_other_tools_print_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "other.txt"
    file.write_text(text)
    with pytest.raises(TutorError, match=says):
        import_runs(file)


def test_a_write_of_less_than_a_round_trip_tells_nothing_of_the_path(tmp_path: Path) -> None:
    """`-n 10K` over a long path: the sender is done before anything has arrived."""
    test, file = json.loads((FILES / "iperf3-3.9-n10K.json").read_text()), tmp_path / "n10K.json"
    for each in test["end"]["streams"]:
        each["receiver"].update(bytes=0, bits_per_second=0)
    for interval in test["intervals"]:
        for row in interval["streams"]:
            row["rtt"] = 243_430
    file.write_text(json.dumps(test))
    run = import_run(file)
    assert run.flows[0].receiver_bps is None
    assert "not of the path" in run.note


@pytest.mark.parametrize(("protocol", "advice"), [("UDP", "receiver"), ("TCP", "intervals")])
def test_a_plot_of_totals_says_what_is_missing(tmp_path: Path, protocol: str, advice: str) -> None:
    file = tmp_path / "totals.json"
    row = {"start": 0, "end": 30.0, "seconds": 30.0, "bytes": 3_468_750_000, "bits_per_second": 925e6}
    row |= {"packets": 423339, "lost_packets": 0} if protocol == "UDP" else {}
    begun = {"version": "iperf 3.16", "test_start": {"protocol": protocol, "num_streams": 1, "duration": 30}}
    file.write_text(json.dumps({"start": begun, "end": {"sum_sent": row, "sum_received": row}}))
    with pytest.raises(TutorError, match=f"only totals.*{advice}"):
        plot.plot([import_run(file)], tmp_path / "totals.png")


def test_perfsonar_s_count_at_the_receiver_is_the_throughput(tmp_path: Path) -> None:
    """pScheduler 5 tells it of the whole; its API keeps the result inside the run."""
    result = json.loads((FILES / "perfsonar-throughput-result.json").read_text())
    result = find_perfsonar_result(result)
    assert result is not None
    result["summary"]["streams"] = result["summary"]["streams"][:1]
    for interval in result["intervals"]:
        interval["streams"] = interval["streams"][:1]
    plain, file = result["summary"]["streams"][0]["throughput-bits"], tmp_path / "result.json"
    result["summary"]["summary"]["receiver-throughput-bits"] = 0.9 * plain
    file.write_text(json.dumps({"runs": [{"href": "x", "result": result}]}))
    (flow,) = import_run(file).flows
    assert flow.receiver_bps == pytest.approx(0.9 * plain)
    assert flow.throughput_bps == flow.receiver_bps
