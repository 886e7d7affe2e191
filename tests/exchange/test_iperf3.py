"""iperf3's results. The files are its own, recorded over loopback with 3.7, 3.12 and 3.21."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptutor.analysis import report
from tcptutor.base.errors import ParameterError, TutorError
from tcptutor.exchange import import_runs
from tcptutor.run import Run
from tests.examples import examples

from .places import FILES, import_run


def run_of(name: str, **path: str) -> Run:
    return import_run(FILES / f"iperf3-{name}", path)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("3.7-two-flows.json", "3.7"),
        ("3.12-omit.json", "3.12"),
        ("3.21-stream.jsonl", "3.21+"),
    ],
)
def test_two_flows_of_any_version(name: str, version: str) -> None:
    run = run_of(name)
    assert run.environment.backend == "imported"
    assert run.note == f"imported from iperf3 {version}"
    assert run.environment.kernel == "6.18.44-fc-v595"
    assert run.started.startswith("2026-11-21T05:43:")
    assert run.complete
    assert (run.experiment.flows.streams, run.experiment.hosts.algorithm) == (2, "reno")
    for flow in run.flows:
        # -b 40M, and a window of whole segments.
        assert flow.throughput_bps == pytest.approx(40e6, rel=0.02)
        assert flow.mss == 1448
        assert 200 < flow.mean_cwnd_segments < 300
        assert 10e-6 < flow.mean_rtt_s < 5e-3
    for flow in (0, 1):
        mine = [row for row in run.samples if row.flow == flow]
        assert [row.t for row in mine] == sorted(row.t for row in mine)
        assert mine[0].bytes_acked == 0
        assert all(before.bytes_acked < after.bytes_acked for before, after in pairwise(mine))


def test_the_omitted_seconds_are_the_warm_up() -> None:
    run = run_of("3.12-omit.json")
    flows = run.experiment.flows
    assert flows.warmup == pytest.approx(1, abs=0.01)
    assert flows.duration == 2
    # iperf3's times begin anew after -O; ours go on.
    assert run.samples[-1].t == pytest.approx(3, abs=0.01)
    assert run.samples[-1].bytes_acked == pytest.approx(3 * 40e6 / 8, rel=0.03)


@pytest.mark.parametrize("name", ["3.7-bidir.json", "3.21-bidir.json"])
def test_both_directions(name: str) -> None:
    run = run_of(name)
    assert run.experiment.flows.directions == ("forward", "reverse")
    sender, receiver = run.flows
    assert sender.mean_cwnd_segments > 100
    # Of what the other end sends, this end knows the bytes.
    assert receiver.mean_cwnd_segments is None
    assert receiver.mean_rtt_s is None
    assert not any(row.cwnd for row in run.samples if row.flow == 1)
    assert receiver.throughput_bps == pytest.approx(40e6, rel=0.02)
    if name.startswith("3.7"):
        assert receiver.retransmits == 1


def test_reverse_says_where_the_rest_is() -> None:
    run = run_of("3.12-reverse.json")
    assert run.experiment.flows.directions == ("reverse",)
    assert "--get-server-output" in run.note
    assert run.samples[-1].bytes_acked > 9e6


@pytest.mark.parametrize(
    ("name", "note"),
    [
        (
            "3.21-server-of-reverse.json",
            "; what arrived is not in the file, so this is what the sender wrote",
        ),
        ("3.21-reverse-with-server.json", ""),
    ],
)
def test_reverse_from_the_server_or_with_its_output(name: str, note: str) -> None:
    run = run_of(name)
    assert run.experiment.flows.directions == ("reverse",)
    assert run.flows[0].mean_cwnd_segments == 226
    assert run.note == f"imported from iperf3 3.21+{note}"


def test_the_segments_are_those_that_the_windows_are_made_of() -> None:
    # -M 1400: what iperf3 calls tcp_mss has the timestamps in it; snd_cwnd is 238 × 1388 bytes and so on.
    run = run_of("3.12-set-mss.json")
    assert {flow.mss for flow in run.flows} == {1388}
    assert run.samples[0].cwnd * 1388 in (330344, 341448)
    assert [flow.retransmits for flow in run.flows] == [47, 94]
    assert run.samples.column("retransmits")[-1] == 94


def test_udp() -> None:
    first, second = run_of("3.21-udp.json").udp
    assert (second.lost, second.datagrams) == (178605, 303100)
    assert first.received_bps / first.sent_bps == pytest.approx(1 - 105429 / 193970, rel=1e-3)
    # By the receiver's clock, as in the file's own sum: datagrams arrive after the sender has ended.
    end = json.loads((FILES / "iperf3-3.21-udp.json").read_text())["end"]
    total = sum(flow.received_bps for flow in (first, second))
    assert total == pytest.approx(end["sum_received"]["bits_per_second"])
    assert 0 < first.jitter_s < 1e-4
    assert [flow.flow for flow in run_of("3.7-udp.json").udp] == [0, 1]
    # The file is the sender's: it does not know in what order they arrived.
    assert first.out_of_order is None
    assert report(run_of("3.21-udp.json")).verdict.sentence.startswith("2 UDP flows sent 5.74 Gbit/s, ")


def test_a_stream_with_the_whole_document_after_it_is_read_once() -> None:
    run = run_of("3.21-stream-full.jsonl")
    assert run.samples[-1].t == pytest.approx(1, abs=0.01)
    assert len(run.samples) == 3
    assert run.complete


ONE, OTHER = FILES / "iperf3-3.7-two-flows.json", FILES / "iperf3-3.12-omit.json"


def several(tmp_path: Path, text: str) -> list[Run]:
    path = tmp_path / "several.json"
    path.write_text(text)
    return import_runs(path)


@pytest.mark.parametrize(
    "between",
    ["", "\n", "\n# second try\n", "\niperf Done.\n{ echo x; }\n"],
)
def test_each_test_of_a_file_is_a_run(tmp_path: Path, between: str) -> None:
    first, second = several(tmp_path, ONE.read_text() + between + OTHER.read_text())
    for number, (run, alone) in enumerate(((first, import_run(ONE)), (second, import_run(OTHER))), 1):
        assert run.flows == alone.flows
        assert run.samples == alone.samples
        assert run.note == f"{alone.note}; test {number} of 2 in the file"
    assert first.id != second.id
    assert [run.id for run in several(tmp_path, ONE.read_text() + between + OTHER.read_text())] == [
        first.id,
        second.id,
    ]


def test_tests_in_a_list_or_in_lines_are_runs_each(tmp_path: Path) -> None:
    listed = several(tmp_path, f"[{ONE.read_text()}, {OTHER.read_text()}]")
    assert [len(run.flows) for run in listed] == [2, 2]
    stream = (FILES / "iperf3-3.21-stream.jsonl").read_text()
    lines = several(
        tmp_path, stream + stream.replace('"cookie":"', '"cookie":"x').replace('"cookie": "', '"cookie": "x')
    )
    assert [run.complete for run in lines] == [True, True]
    assert lines[0].samples == lines[1].samples


def test_a_test_that_was_cut_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    text = ONE.read_text()
    cut, whole = several(tmp_path, text[: text.index('"end":\t{\n\t\t"streams"')] + OTHER.read_text())
    assert (cut.complete, whole.complete) == (False, True)
    assert len(cut.samples) == len(import_run(ONE).samples)
    assert whole.flows == import_run(OTHER).flows


def test_of_several_tests_those_that_measured_nothing_are_told(tmp_path: Path) -> None:
    refused = (FILES / "iperf3-3.21-refused.json").read_text()
    (run,) = several(tmp_path, refused + OTHER.read_text())
    assert "; test 2 of 2 in the file; test 1: iperf3 says 'unable to connect" in run.note
    with pytest.raises(TutorError, match="iperf3 says"):
        several(tmp_path, refused + refused)


def received(bytes_of_each: list[int]) -> str:
    """A client's file whose server counted so many bytes."""
    document = json.loads(ONE.read_text())
    for stream, count in zip(document["end"]["streams"], bytes_of_each, strict=True):
        stream["receiver"] |= {"bytes": count, "bits_per_second": 8 * count / stream["receiver"]["seconds"]}
    return json.dumps(document)


def test_without_any_word_of_the_server_the_sender_s_seconds_stand(tmp_path: Path) -> None:
    """A server that is killed counts 0 bytes: what the sender wrote is kept, as the sender's count of a cut test."""
    (gone,) = several(tmp_path, received([0, 0]))
    assert not gone.complete and "the server reported nothing" in gone.note
    assert [flow.receiver_bps for flow in gone.flows] == [None, None]
    assert [flow.throughput_bps for flow in gone.flows] == [pytest.approx(40e6, rel=0.02)] * 2


def test_a_stream_of_which_nothing_arrived_has_no_throughput(tmp_path: Path) -> None:
    (run,) = several(tmp_path, received([0, 5_000_000]))
    assert [flow.throughput_bps > 0 for flow in run.flows] == [False, True]
    assert report(run).throughput_bps == pytest.approx(run.flows[1].throughput_bps)


def test_a_server_that_sends_does_not_know_what_arrived() -> None:
    run = run_of("3.21-server-of-reverse.json")
    assert run.flows[0].receiver_bps is None
    assert run.flows[0].throughput_bps == pytest.approx(40e6, rel=0.02)


def test_a_real_link_spends_more_than_the_lab_s_shaper_counts() -> None:
    """1448 of 1538 bytes: header, FCS, preamble and gap; the lab's shaper counts 1514."""
    run = run_of("3.12-omit.json", rate="1 Gbit/s", delay="1 ms")
    link = next(one.prediction for one in report(run).comparisons if one.prediction.model == "link")
    assert link.throughput_bps == pytest.approx(1e9 * 1448 / 1538)
    assert "38 bytes per frame" in run.note
    assert "38 bytes" not in run_of("3.12-omit.json").note


def test_the_same_file_is_the_same_run() -> None:
    assert run_of("3.12-omit.json") == run_of("3.12-omit.json")
    assert run_of("3.12-omit.json").id != run_of("3.7-two-flows.json").id


def test_models_are_asked_when_the_path_is_told() -> None:
    unknown = report(run_of("3.12-set-mss.json"))
    assert unknown.comparisons == ()
    assert "--set rate=" in unknown.verdict.sentence
    known = report(run_of("3.12-omit.json", rate="100 Mbit/s", delay="1 ms"))
    link = next(one for one in known.comparisons if one.prediction.model == "link")
    assert link.ratio == pytest.approx(0.845, abs=0.005)  # of a wire: 38 bytes a frame


@pytest.mark.parametrize(
    ("bound", "path", "limited_by"),
    [
        (40e6, {}, "pacing"),
        (40e6, {"rate": "100 Mbit/s"}, "pacing"),
        # The flows stay well below a higher bound, and something else limits them.
        (60e6, {}, "unexplained"),
        (60e6, {"rate": "84 Mbit/s"}, "bottleneck"),
        (0, {}, "unexplained"),
    ],
)
def test_the_bound_of_b_is_the_limit_of_flows_that_reach_it(
    tmp_path: Path, bound: float, path: dict[str, str], limited_by: str
) -> None:
    """Each of the two streams has 39.8 Mbit/s; `-b` bounds each."""
    test = json.loads((FILES / "iperf3-3.12-omit.json").read_text())
    test["start"]["test_start"]["target_bitrate"] = bound
    file = tmp_path / "bounded.json"
    file.write_text(json.dumps(test))
    run = import_run(file, path)
    assert run.experiment.flows.pacing == (bound or None)
    assert report(run).verdict.limited_by == limited_by


def test_acknowledgements_of_the_other_way_fill_a_link_both_ways(tmp_path: Path) -> None:
    """40.3 Mbit/s each way are 93 % of the payload that 46 Mbit/s carry, and the ACKs take the rest."""
    test = json.loads((FILES / "iperf3-3.21-bidir.json").read_text())
    test["start"]["test_start"]["target_bitrate"] = 0
    file = tmp_path / "both.json"
    file.write_text(json.dumps(test))
    told = report(import_run(file, {"rate": "46 Mbit/s", "reverse_rate": "46 Mbit/s"})).verdict
    assert [told.limited_by, *(flow.limited_by for flow in told.flows)] == ["bottleneck"] * 3


def test_a_file_s_full_link_is_the_limit_however_its_window_grows(tmp_path: Path) -> None:
    """The writes of single seconds tell nothing of the link: the window grows into its queue."""
    test = json.loads((FILES / "iperf3-3.12-omit.json").read_text())
    test["start"]["test_start"]["target_bitrate"] = 0
    rows = [row for interval in test["intervals"] for row in interval["streams"]]
    for number, row in enumerate(rows):
        row.update(retransmits=0, snd_cwnd=1448 * 300 * (1 + number), rtt=90_000 * (1 + number))
    file = tmp_path / "growing.json"
    file.write_text(json.dumps(test))
    assert report(import_run(file, {"rate": "84.5 Mbit/s"})).verdict.limited_by == "bottleneck"


def test_times_of_udp_go_on_after_the_omitted_seconds(tmp_path: Path) -> None:
    test = json.loads((FILES / "iperf3-3.12-udp-reverse-client.json").read_text())
    first = json.loads(json.dumps(test["intervals"][0]))
    for row in first["streams"]:
        row["omitted"] = True
    test["intervals"].insert(0, first)
    file = tmp_path / "omit.json"
    file.write_text(json.dumps(test))
    run, plain = import_run(file), run_of("3.12-udp-reverse-client.json")
    times = [row.t for row in run.udp_samples]
    assert times == sorted(set(times))
    assert run.experiment.flows.warmup == pytest.approx(first["streams"][0]["end"])
    assert times[-1] == pytest.approx(plain.udp_samples[-1].t + run.experiment.flows.warmup)
    assert run.udp == plain.udp


@pytest.mark.parametrize(
    ("path", "says"),
    [({"streams": "3"}, "the file contains this value"), ({"rate": "fast"}, "rate"), ({"x": "1"}, "x")],
)
def test_a_wrong_path_is_told(path: dict[str, str], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        run_of("3.12-omit.json", **path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        (
            "Connecting to host 10.0.0.2, port 5201\n[ ID] Interval           Transfer     Bitrate\n",
            "again with -J",
        ),
        ("20240101120000,10.0.0.1,5001,10.0.0.2,5001,3,0.0-10.0,1310720,1048576\n", "iperf 2's CSV"),
        ("iperf3: error - unable to connect to server: Connection refused\n", "Connection refused"),
        ("iperf 3.12\n[  5] 0.00-1.00 sec  112 MBytes\n", "no JSON"),
        ('{"a": 1}', "something else"),
        ("{", "damaged"),
        ('{"start": {"connected": 3}, "intervals": []}', "connected"),
        ('{"start": {}, "intervals": [], "end": {}}', "no interval"),
        ("[" * 100_000, "no JSON"),
        ('{"start":' * 100_000, "neither|nested"),
    ],
)
def test_what_is_not_iperf3_s_is_told_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(TutorError, match=says) as caught:
        import_run(file)
    assert "\n" not in str(caught.value)
    assert "x.json" in str(caught.value)


def test_a_test_that_could_not_connect_says_iperf3_s_reason() -> None:
    with pytest.raises(TutorError, match=r"Connection refused.*run the test again"):
        run_of("3.21-refused.json")


def test_lines_around_the_json_do_no_harm(tmp_path: Path) -> None:
    text = (FILES / "iperf3-3.12-omit.json").read_text()
    file = tmp_path / "omit.json"
    file.write_text(f"warning: this is not JSON\n{text}\niperf3: interrupt - the client has terminated\n")
    assert import_run(file).samples == run_of("3.12-omit.json").samples


def test_a_test_that_was_ended_keeps_what_it_measured(tmp_path: Path) -> None:
    lines = (FILES / "iperf3-3.21-stream.jsonl").read_text().splitlines()
    file = tmp_path / "killed.jsonl"
    error = '{"event":"error","data":"interrupt - the server has terminated"}'
    file.write_text("\n".join([*lines[:3], error]))
    run = import_run(file)
    assert not run.complete
    assert "the server has terminated" in run.note
    assert run.samples[-1].t == pytest.approx(1, abs=0.01)


@settings(max_examples=examples(150))
@given(data=st.data(), name=st.sampled_from(["iperf3-3.12-omit.json", "iperf3-3.21-stream.jsonl"]))
def test_cut_anywhere_a_file_gives_its_whole_intervals_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    text = (FILES / name).read_text()
    cut = text[: data.draw(st.integers(0, len(text.rstrip()) - 1))]
    file = tmp_path_factory.getbasetemp() / "cut.json"
    file.write_text(cut)
    whole = import_run(FILES / name)
    try:
        run = import_run(file)
    except TutorError as error:
        # Nothing is given up while there is a whole interval.
        assert cut.count('"sum"') <= 1, error
        return
    assert not run.complete or run.flows == whole.flows
    # Only the end of a cut test tells the receiver's side; the samples are there already.
    assert (
        list(run.samples)
        == [row for row in whole.samples if row.t <= run.experiment_s + 1e-9][: len(run.samples)]
    )
