"""A second reading of why a measurement is not what a model said: each printed reason against the raw samples."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from tcptutor.analysis import ModelComparison, Report
from tcptutor.run import Run

from .raw import Raw, least, measured, must, number, rate, size_of, time_of, together, way_back

Check = Callable[[Raw, "re.Match[str]", ModelComparison, Report], str]


def _nearer(one: ModelComparison, factor: float) -> str:
    """A reason makes the difference clearly smaller than it is."""
    before, after = abs(math.log(one.ratio)), abs(math.log(one.ratio / factor))
    return must(after < 0.4 * before, f"measured is {one.ratio:.3g} of it, the reason makes it {factor:.3g}")


def _offloads(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    each = report.retransmits / max(1, report.loss_events)
    return together(
        must(raw.experiment.hosts.offloads, "offloads are off"),
        must(abs(number(said[1]) - each) <= 0.5, f"{each:.3g} were sent again for each loss"),
        _nearer(one, math.sqrt(each)),
    )


def _missing(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    return must(int(said[1]) == len(raw.columns) != int(said[2]), f"{len(raw.columns)} flows have samples")


def _for_a_while(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    times = raw.columns[int(said[1]) - 1]["t"]
    there = times[-1] - times[0]
    return must(abs(there - number(said[2])) <= 0.06 * there + 0.06, f"it was there for {there:.3g} s")


def _algorithm(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    names = {raw.experiment.algorithm(flow) for flow in range(raw.experiment.total_streams)}
    named = [name for name in names if re.search(rf"\b{name}\b", said[0])]
    return together(must(bool(named), f"{names} send"), must(one.prediction.limited_by in (
        "random-loss", "bottleneck"
    ), "no loss model"))  # fmt: skip


def _advertised(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    mean = raw.mean("snd_wnd")
    return together(
        must(abs(size_of(said[1]) - mean) <= 0.01 * mean, f"{mean:.0f} bytes were advertised"),
        _nearer(one, mean / (raw.experiment.hosts.window or 65535)),
    )


def _segments(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    most = max(sum(each["unacked"]) / len(each["unacked"]) for each in raw.columns.values())
    return together(
        must(abs(number(said[3]) - most) <= 0.02 * most, f"{most:.3g} were under way"),
        must(most <= int(said[1]) + 0.15, "more than fit were under way"),
        must(int(said[1]) >= 16, "so few are in the formula as whole ones"),
        must(report.verdict.limited_by == "receive-window", f"limited by {report.verdict.limited_by}"),
        must(one.ratio < 1, "more was measured"),
    )


def _writes(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    asked = raw.experiment.hosts.send_buffer or 0
    return together(
        must(size_of(said[2]) > 0.99 * asked > 0, "no more than the buffer was held"),
        must(one.ratio > 1, "less was measured"),
    )


def _rtt(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    mean, told, path = raw.mean("rtt"), time_of(said[1]), time_of(said[2])
    waits = raw.wait()
    if len({raw.experiment.reversed(flow) for flow in raw.columns}) == 2:
        waits += raw.return_load()[1]
    queued = must(not said[3] or waits >= 0.4 * (mean - path), f"a queue of {waits:.3g} s")
    return together(
        must(abs(told - mean) <= 0.02 * mean, f"the mean RTT is {mean:.4g} s"),
        _nearer(one, path / told),
        queued,
    )


def _more_lost(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    again = sum(map(raw.grown, ("retransmits", "delivered_ce", "total_rto"))) / max(
        1.0, raw.grown("segs_out")
    )
    told, path = number(said[1]) / 100, number(said[2]) / 100
    return together(
        must(told <= 1.05 * again, f"{again:.3%} were sent again, marked or waited for"),
        must(told > 1.2 * path, "no more than the path loses"),
        must(one.ratio < 1, "more was measured"),
    )


def _waited(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    share, told = raw.stalled(), number(said["took"]) / 100
    return must(abs(share - told) <= 0.12, f"{share:.2f} of the time without progress")


def _constant(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    return _nearer(one, 1 + number(said["more"]) / 100)


def _less(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    return _nearer(one, 1 - number(said["less"]) / 100)


def _few(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    return must(int(said[1]) == report.loss_events < 20, f"{report.loss_events} loss events")


def _udp(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    got = sum(flow.received_bps for flow in raw.run.udp)
    return must(abs(rate(said[1]) - got) <= 0.01 * got, f"UDP got {got}")


def _dry(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    names = {raw.experiment.algorithm(flow) for flow in range(raw.experiment.total_streams)}
    return together(
        must(names == {"reno"}, f"{names} send"),
        must("after each mark" in said[0] or raw.grown("retransmits") > 0, "nothing was lost"),
        must("after each loss" in said[0] or raw.grown("delivered_ce") > 0, "nothing was marked"),
        must(("allows" in said[0]) == (raw.experiment.path.qdisc != "fifo"), raw.experiment.path.qdisc),
        must(not raw.queue or any(row.bytes == 0 for row in raw.queue), "the queue was never empty"),
        _nearer(one, 1 - number(said[1]) / 100),
    )


def _payload(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    return must(one.ratio < 1, "more was measured")


def _start(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    first = last = 0.0
    for each in raw.columns.values():
        acked, places = each["bytes_acked"], len(each["t"])
        quarter = max(1, places // 4)
        first += acked[quarter] - acked[0]
        last += acked[-1] - acked[-1 - quarter]
    return together(
        must(time_of(said[1]) <= raw.experiment.seconds, "the start takes longer than the run"),
        must(raw.experiment.flows.bytes is None, "the flows had an amount to send"),
        must(last > first, "the end was no faster than the beginning"),
        must(one.ratio < 1, "more was measured"),
    )


def _acks(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    return together(way_back(raw, {"back": said[1]}), must(one.ratio < 1, "more was measured"))


def _other(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    named = said[0].removeprefix("not the limit: that was ")
    names = {
        "application": "the application", "receive-window": "the receiver's window", "send-buffer": "the send buffer",
        "pacing": "pacing", "random-loss": "random loss", "bottleneck": "the bottleneck", "reordering": "reordering",
        "timeout": "timeouts",
    }  # fmt: skip
    verdict = report.verdict.limited_by
    told = named == names.get(verdict) if "that was" in said[0] else verdict in ("growing", "pacing")
    return together(must(told, f"limited by {verdict}"), must(one.ratio < 1, "more was measured"))


def _sackless(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    share = raw.share(lambda row: row["ca_state"] == 3)
    return together(
        must(raw.experiment.hosts.sysctls.get("tcp_sack") == "0", "there is SACK"),
        least("time in recovery", share, 0.5),
        must(one.ratio < 1, "more was measured"),
    )


def _shuffled(raw: Raw, said: re.Match[str], one: ModelComparison, report: Report) -> str:
    path = raw.experiment.path
    if path.jitter:
        given = time_of(said[1]) == path.jitter
    else:
        given = math.isclose(number(said[1]) / 100, path.reorder, rel_tol=0.01)
    return together(
        must(given, f"jitter {path.jitter}, reorder {path.reorder}"),
        must(raw.grown("reord_seen") + raw.grown("dsack_dups") > 0, "nothing came out of order"),
        must(one.ratio < 1, "more was measured"),
    )


REASONS: dict[str, tuple[tuple[str, Check], ...]] = {
    "super_packets": ((r"offloads: one loss takes a packet of (\d+) segments, .+", _offloads),),
    "other_times": (
        (r"(\d+) of (\d+) flows were measured", _missing),
        (r"flow (\d+) was there for ([\d.]+) of ([\d.]+) s", _for_a_while),
    ),
    "not_modelled": (
        (r"\w+ does not take a loss for congestion: this is what Reno would get", _algorithm),
        (r"there is no model of \w+ here: this is what Reno would get", _algorithm),
        (r"this is what Reno would get, and \w+ has a model of its own", _algorithm),
        (r"this is what Reno would get, not \w+", _algorithm),
    ),
    "without_sack": (
        (r"without SACK a round trip repairs one lost segment, which this model leaves out", _sackless),
    ),
    "shuffled": (
        (r"jitter of (.+) reorders segments, which this model leaves out", _shuffled),
        (r"([\d.]+) % of the segments overtake others, which this model leaves out", _shuffled),
    ),
    "other_window": ((r"the receiver advertised (.+), not (.+)", _advertised),),
    "whole_segments": (
        (r"(\d+) whole segments fit into (.+), and ([\d.]+) were under way on average", _segments),
    ),
    "unchecked_writes": ((r"(.+) are no whole segments: .+, (.+) in all", _writes),),
    "queueing": ((r"the RTT was (.+?), not the path's (.+?)(: queues formed)?", _rtt),),
    "more_losses": (
        (r"([\d.e-]+) % of the segments met a loss event, more than the path's ([\d.e-]+) %", _more_lost),
    ),
    "lost_acks": (
        (r"every ACK of a window is lost once in .+, and .+ took (?P<took>[\d.]+) % of the time", _waited),
    ),
    "timed_out": (
        (r"waiting for timeouts took (?P<took>[\d.]+) % of the time, which this model leaves out", _waited),
        (r"timeouts took (?P<took>[\d.]+) % of the time, Padhye has .+", _waited),
    ),
    "loss_constant": (
        (r"C .+: Reno as in Linux has [\d.]+ here, (?P<more>[\d.]+) % more", _constant),
        (r"C .+: Reno as in Linux has [\d.]+ here, (?P<less>[\d.]+) % less", _less),
    ),
    "cubic_random": (
        (r"RFC 9438 spaces losses evenly: .+ run (?P<more>[\d.]+) % above it", _constant),
        (r"RFC 9438 has a smooth window: .+ keep CUBIC (?P<less>[\d.]+) % below it", _less),
    ),
    "few_losses": (
        (
            r"too few losses \((\d+)\)(: run for \d+ s|: let .+ more bytes|, and no run is long enough .+)",
            _few,
        ),
    ),
    "udp_share": ((r"the UDP flows got (.+), not (.+)", _udp),),
    "short_buffer": (
        (r"a queue of .+ BDP runs dry after each loss, and Reno leaves ([\d.]+) % of the link", _dry),
        (
            r".+ allows a queue of .+ BDP: it runs dry after each \w+, and Reno leaves ([\d.]+) % of the link",
            _dry,
        ),
    ),
    "framing": (
        (r"a real wire spends 38 bytes on a frame, not 14: .+ of it is payload", _payload),
        (r"headers: .+ of a frame is payload", _payload),
    ),
    "slow_start": ((r"the start takes (.+), the warm-up .+ s: up to .+ of the mean is missing", _start),),
    "acks_in_the_way": ((r"the reverse path, (.+), has no room for more acknowledgements", _acks),),
    "other_limit": (
        (r"not the limit: that was .+", _other),
        (r"not the limit: the window was still growing", _other),
        (r"not the limit: fq has the lower pace", _other),
    ),
}
"""By the name of the function that gives it: what it may say."""

_PATTERNS = [(re.compile(text), check) for those in REASONS.values() for text, check in those]


def note(run: Run, report: Report) -> str:
    """What is wrong with the one remark on a run: a forecast that failed, or a limit of flows that are not there."""
    every = Raw(run, sorted(set(run.samples.column("flow"))), *measured(run))
    used = every.used() if every.columns else None
    foretold = re.search(
        r"expect (a little )?less|too short to keep the link full|less than either", report.note
    )
    expected = " was expected to be the limit, but" in report.note
    model = report.comparisons[0].prediction.model if report.comparisons else None
    names = {run.experiment.algorithm(flow) for flow in range(run.experiment.total_streams)}
    strangers = (
        model is not None and model.limited_by == "random-loss" and model.algorithm not in names | {""}
    )
    return together(
        must(not (foretold and used is not None and used >= 0.985), f"the link is {used} used"),
        must(not (expected and strangers), f"{names} send"),
    )


def problems(run: Run, report: Report) -> Iterator[str]:
    """What is given as the reason of a difference, and false."""
    if wrong := note(run, report):
        yield f"{report.note!r}: {wrong}"
    raw = None
    for one in report.comparisons:
        if one.within and (one.prediction.tolerance > 0.4 or abs(one.difference) > one.prediction.tolerance):
            yield f"a tick for {one.prediction.label}, {one.difference:+.2f} of ±{one.prediction.tolerance}"
        if one.within and one.reason.startswith("not the limit"):
            yield f"a tick for {one.prediction.label}, and {one.reason!r}"
        if not one.reason:
            continue
        raw = raw or Raw(run, sorted(set(run.samples.column("flow"))), *measured(run))
        if not raw.columns:
            continue
        found = [(said, check) for pattern, check in _PATTERNS if (said := pattern.fullmatch(one.reason))]
        wrong = found[0][1](raw, found[0][0], one, report) if found else "nobody audits it"
        wrong = together(wrong, least("difference", abs(one.difference), 0.03))
        if wrong:
            yield f"{one.prediction.label}, {one.difference:+.3f}, {one.reason!r}: {wrong}"
