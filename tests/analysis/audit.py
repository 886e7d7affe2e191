"""A second reading of what is said of a run: each printed clause and reason against the raw samples.

Nothing of the rules, of the evidence or of the models is used here: only rows of numbers and what the experiment set.
Each claim has a function that gives what is wrong with it, or an empty text. A claim without one is wrong as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from tcptutor.analysis import Report
from tcptutor.analysis.compared.clauses import CLAUSES, LINK_USED, LINK_USED_THEN, UNEXPLAINED
from tcptutor.analysis.compared.verdict import REVERSE
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.run import Run
from tcptutor.spec import Experiment

from . import audit_reasons
from .audit_reasons import REASONS
from .raw import Raw, least, measured, must, number, rate, size_of, time_of, together, way_back

__all__ = ["AUDITS", "REASONS", "clauses", "problems", "sentence"]

Check = Callable[[Raw, Mapping[str, str]], str]


def near(text: str, value: float, slack: float = 0.02) -> str:
    return "" if abs(number(text) - value) <= slack + 0.02 * value else f"{text} said, {value:.4g} sampled"


# What limited it


def _busy(raw: Raw, said: Mapping[str, str]) -> str:
    share = raw.busy()
    return together(near(said["busy"], share), must(share < 0.805, f"busy {share:.2f} of the time"))


def _starved(raw: Raw, said: Mapping[str, str]) -> str:
    share = raw.share(
        lambda row: (
            bool(row["app_limited"])
            and row["notsent"] < max(1, row["mss"])
            and row["unacked"] < max(1, row["cwnd"])
        )
    )
    return together(near(said["starved"], share), least("waiting for data", share, 0.5))


def _window(raw: Raw, said: Mapping[str, str]) -> str:
    """The size that is told is the advertised one, or the one asked for where the two are nearly the same."""
    if "," not in said["window"]:
        return ""
    size = size_of(said["window"])
    advertised, asked = raw.mean("snd_wnd"), raw.experiment.hosts.window or 0
    if not advertised:
        return ""
    close = abs(size - advertised) <= 0.03 * advertised
    return must(close, f"{size:.0f} bytes said, {advertised:.0f} advertised, {asked} asked")


def _moves_on(raw: Raw) -> str:
    """A window that is the limit is used: a good part of it arrives in a round trip."""
    window = raw.mean("snd_wnd")
    flight = raw.flow_bps() * raw.mean("rtt") / 8
    return must(
        not window or flight >= 0.19 * window, f"{flight:.0f} of {window:.0f} bytes arrive a round trip"
    )


def _rwnd(raw: Raw, said: Mapping[str, str]) -> str:
    share = raw.of_busy("rwnd_limited")
    return together(
        near(said["windowed"], share), least("window full", share, 0.5), _window(raw, said), _moves_on(raw)
    )


def _filled(raw: Raw, said: Mapping[str, str]) -> str:
    flight = raw.flow_bps() * raw.mean("rtt") / 8
    return together(
        least("share of the window under way", flight / max(raw.mean("snd_wnd"), 1), 0.75),
        least("time with a full window", raw.of_busy("rwnd_limited"), 0.1),
        must(abs(size_of(said["flight"]) - flight) <= 0.1 * flight, f"{flight:.0f} bytes under way"),
        _window(raw, said),
    )


def _sndbuf(raw: Raw, said: Mapping[str, str]) -> str:
    share = raw.of_busy("sndbuf_limited")
    return together(near(said["buffered"], min(1.0, share)), least("buffer full", share, 0.5))


def _small_buffer(raw: Raw, said: Mapping[str, str]) -> str:
    asked = raw.experiment.hosts.send_buffer or raw.experiment.flows.buffer
    if asked is None:
        return "no buffer was asked for"
    each = [
        sum(a * b + c for a, b, c in zip(one["unacked"], one["mss"], one["notsent"], strict=True))
        / len(one["t"])
        for one in raw.columns.values()
    ]
    held = sum(each) / len(each)
    return together(
        must(abs(size_of(said["buffer"]) - asked) <= 0.01 * asked, f"{asked} bytes were asked for"),
        least("share of it that is filled", held / asked, 0.4),
    )


def _no_queue(raw: Raw) -> str:
    """Who is held in the sender does not wait at the bottleneck."""
    used = raw.used()
    if not raw.queue or used is None or used < 0.95:
        return ""
    frames = sum(row.packets for row in raw.queue) / len(raw.queue)
    wait, shortest = raw.wait(), min(rtt for one in raw.columns.values() for rtt in one["min_rtt"])
    stands = frames > 3 and wait > 0.12 * shortest
    return must(not stands, f"{frames:.0f} packets wait at the bottleneck, {wait:.3g} s")


def _paced(raw: Raw, said: Mapping[str, str]) -> str:
    pace, asked, fq = rate(said["pace"]), raw.experiment.flows.pacing, raw.experiment.hosts.maxrate
    paces = [rate for one in raw.columns.values() for rate in one["pacing_rate"]]
    shown = max(paces) if max(paces) <= 1.002 * min(paces) else None
    known = [rate for rate in (asked, shown) if rate is not None]
    return together(
        must(any(abs(pace - rate) <= 0.01 * rate for rate in known), f"paced at {known}"),
        least("share of the pace", raw.flow_bps() / pace, 0.65),
        must(fq is None or fq > 0.9 * pace, f"fq lets only {fq} out"),
        _no_queue(raw),
    )


def _fq(raw: Raw, said: Mapping[str, str]) -> str:
    fq, asked = raw.experiment.hosts.maxrate, raw.experiment.flows.pacing
    if fq is None:
        return "no fq has a maxrate"
    return together(
        must(abs(rate(said["maxrate"]) - fq) <= 0.01 * fq, f"maxrate is {fq}"),
        least("share of maxrate", raw.flow_bps() / fq, 0.6),
        must(asked is None or asked >= 0.9 * fq, f"the application paces at {asked}"),
        _no_queue(raw),
    )


def _in_host(raw: Raw, said: Mapping[str, str]) -> str:
    share = raw.share(
        lambda row: (
            row["notsent"] >= row["mss"]
            and row["ca_state"] < 2
            and row["unacked"] < 0.95 * min(row["cwnd"], (row["snd_wnd"] or 1e12) / row["mss"])
        )
    )
    names = {raw.experiment.algorithm(flow) for flow in raw.columns}
    return together(
        least("data waiting with room", share, number(said["held"]) - 0.02),
        least("data waiting with room", share, 0.5),
        must("bbr" not in names, "BBR leaves room on purpose"),
        _no_queue(raw),
    )


def _random(raw: Raw, said: Mapping[str, str]) -> str:
    count = 1 if said["times"] == "once" else int(said["times"].removesuffix(" times"))
    path = raw.experiment.path
    loss = path.reverse_loss if raw.backward else raw.value("loss", path.loss)
    told = re.search(r"([\d.e-]+) %", said["loss"])
    names = {raw.experiment.algorithm(flow) for flow in raw.columns}
    return together(
        must(names != {"bbr"}, "BBR does not cut its window for a loss"),
        must(raw.loses(), "the path loses nothing at random"),
        must(1 <= count <= raw.grown("retransmits"), f"{raw.grown('retransmits'):.0f} were sent again"),
        must(told is None or abs(float(told[1]) / 100 - loss) <= 0.01 * loss, f"the loss is {loss}"),
        near(said["stalled"], raw.stalled(), 0.12) if "stalled" in said else "",
    )


def _repeats(raw: Raw, said: Mapping[str, str]) -> str:
    return together(must(raw.loses(), "the path loses nothing at random"), _again(raw, said))


def _is_full(raw: Raw, said: Mapping[str, str]) -> str:
    used = raw.used()
    return "the link has no rate" if used is None else least("use of the link", used, 0.95 - 0.01)


def _adds(raw: Raw, said: Mapping[str, str]) -> str:
    wait, told = raw.wait(), time_of(said["queueing"])
    shortest = min((rtt for one in raw.columns.values() for rtt in one["min_rtt"] if rtt > 0), default=0.0)
    return together(
        must(abs(told - wait) <= 0.06 * wait + 2e-4, f"{told:.4g} s said, {wait:.4g} sampled"),
        least("wait over the least RTT", wait / max(shortest, 1e-9), 0.095),
    )


def _used_most(raw: Raw, said: Mapping[str, str]) -> str:
    return least("use of the link", raw.used() or 0.0, 0.85 - 0.01)


def _marks(raw: Raw, said: Mapping[str, str]) -> str:
    marks, names = raw.grown("delivered_ce"), {raw.experiment.algorithm(flow) for flow in raw.columns}
    if said["marked"] == "segments":
        return must(marks > 0, "none was marked")
    exact = must(0 < int(said["marked"].removesuffix(" segments")) == marks, f"{marks:.0f} were marked")
    return together(exact, must(names == {"dctcp"}, "others are told of one mark until they answer"))


def _dropped(raw: Raw, said: Mapping[str, str]) -> str:
    told = int(said["drops"])
    every = set(raw.run.samples.column("flow"))
    if len(raw.columns) < sum(raw.experiment.reversed(flow) == raw.backward for flow in every):
        return "nobody knows whose packets the queue dropped"
    return must(told > 0 and abs(told - raw.drops()) <= 2 + 0.1 * told, f"{raw.drops()} were dropped")


def _drops_some(raw: Raw, said: Mapping[str, str]) -> str:
    return together(
        must(raw.drops() > 0, "nothing was dropped"),
        must(raw.grown("retransmits") > 0, "nothing was sent again"),
    )


def _no_dry_link(raw: Raw, said: Mapping[str, str]) -> str:
    """A queue that overflows and is empty most of the time does not keep the link full."""
    empty = sum(row.bytes == 0 for row in raw.queue) / max(1, len(raw.queue))
    dry = raw.drops() > 0 and empty > 0.5 and (raw.used() or 1.0) < 0.975 and not _short(raw, said)
    return must(not dry or raw.experiment.path.qdisc != "fifo", f"the queue is empty {empty:.0%} of the time")


def _again(raw: Raw, said: Mapping[str, str]) -> str:
    grown = raw.grown("retransmits")
    return must(int(said["retransmits"]) == grown, f"{grown:.0f} were sent again")


def _keeps_short(raw: Raw, said: Mapping[str, str]) -> str:
    qdisc = raw.experiment.path.qdisc
    return must(qdisc.replace("_", "-") == said["qdisc"].lower(), f"the queue is {qdisc}")


def _short(raw: Raw, said: Mapping[str, str]) -> str:
    path, rate = raw.experiment.path, raw.rate_at((raw.start + raw.end) / 2) or 0.0
    delay = min(raw.experiment.delay(flow) for flow in range(raw.experiment.total_streams))
    delay += raw.value("delay", path.delay) - path.delay
    bdps = raw.value("queue", path.queue) / max(1.0, rate * delay / 8)
    return must(bdps < 0.9 or path.qdisc != "fifo", f"the queue holds {bdps:.2g} BDP")


def _bbr(raw: Raw, said: Mapping[str, str]) -> str:
    names = {raw.experiment.algorithm(flow) for flow in raw.columns}
    return together(must(names == {"bbr"}, f"{names} send"), least("use of the link", raw.used() or 0.0, 0.8))


def _only_a_queue(raw: Raw, said: Mapping[str, str]) -> str:
    return together(
        _again(raw, said),
        must(raw.grown("retransmits") > 0, "nothing was sent again"),
        must(not raw.loses(), "the path loses"),
        must(not raw.queue, f"the queue was sampled, and dropped {raw.drops()}"),
    )


def _computer(raw: Raw, said: Mapping[str, str]) -> str:
    busiest = float(raw.run.fidelity.checks.get("busiest processor", 0))
    return together(near(said["processor"], busiest), least("busiest processor", busiest, 0.9), must(
        raw.rate() is None, "a rate is set"
    ))  # fmt: skip


def _growing(raw: Raw, said: Mapping[str, str]) -> str:
    first = last = 0.0
    for one in raw.columns.values():
        quarter = max(1, len(one["cwnd"]) // 4)
        first += sum(one["cwnd"][:quarter]) / quarter
        last += sum(one["cwnd"][-quarter:]) / quarter
    growth = last / first
    told = said["growth"]
    value = (
        float(told.removesuffix("-fold")) if told.endswith("-fold") else 1 + number(told.removeprefix("by "))
    )
    return together(
        must(growth > 1.001, f"the window went to {growth:.3g} of itself"),
        must(abs(value - growth) <= 0.07 * growth, f"{growth:.3g}-fold by the samples"),
    )


def _reordering(raw: Raw, said: Mapping[str, str]) -> str:
    found = raw.grown("reord_seen")
    return together(
        must(int(said["reordered"]) == found >= 3, f"{found:.0f} were found"),
        must(raw.grown("retransmits") > 0, "nothing was sent again"),
    )


def _needless(raw: Raw, said: Mapping[str, str]) -> str:
    """As many retransmissions as the receiver said to have had already, and no more than there were."""
    told, of = re.findall(r"\d+", said["spurious"])
    again = raw.grown("retransmits")
    found = min(again, raw.grown("dsack_dups"))
    return together(
        must(int(told) == found > 0, f"{found:.0f} came twice"),
        must(int(of) == again, f"{again:.0f} were sent again"),
        must(not raw.experiment.path.duplicate, "the path itself makes duplicates"),
    )


def _repaired(raw: Raw) -> float:
    """Segments that were sent again in recovery, without those after a timeout."""
    return sum(
        max(0, again[at] - again[at - 1])
        for one in raw.columns.values()
        for again in [one["retransmits"]]
        for at in range(1, len(again))
        if one["ca_state"][at - 1] == one["ca_state"][at] == 3
    )


def _one_by_one(raw: Raw, said: Mapping[str, str]) -> str:
    share = raw.share(lambda row: row["ca_state"] == 3)
    return together(
        near(said["recovering"], share),
        least("time in recovery", share, 0.5),
        must(raw.experiment.hosts.sysctls.get("tcp_sack") == "0", "there is SACK"),
        must(_repaired(raw) * raw.mean("rtt") <= 1.5 * share * raw.seconds(), "more than one a round trip"),
    )


def _bbr_is_low(raw: Raw, said: Mapping[str, str]) -> str:
    names = {raw.experiment.algorithm(flow) for flow in raw.columns}
    return together(
        must(names == {"bbr"}, f"{names} send"),
        must(raw.loses(), "the path loses nothing at random"),
        must((raw.used() or 1.0) < 0.95, "the link is full"),
    )


def _return(raw: Raw, said: Mapping[str, str]) -> str:
    load, waits = raw.return_load()
    given = raw.experiment.path.reverse_rate or 0.0
    told = time_of(said["return_queueing"])
    return together(
        must(abs(rate(said["return"]) - given) <= 0.01 * given, f"the reverse path has {given}"),
        least("use of the reverse path", load, 0.75),
        must(abs(told - waits) <= 0.08 * waits + 2e-3, f"{told:.4g} s said, {waits:.4g} sampled"),
        must((raw.used() or 0.0) < 0.95, "the path itself is full"),
    )


def _timeouts(raw: Raw, said: Mapping[str, str]) -> str:
    return together(
        _stalls(raw, said), must(0 < int(said["timeouts"]) == raw.grown("total_rto"), "another number of them")
    )  # fmt: skip


def _stalls(raw: Raw, said: Mapping[str, str]) -> str:
    share = raw.stalled()
    return together(least("time without progress", share, 0.25), near(said["stalled"], share, 0.12))


def _said_used(raw: Raw, said: Mapping[str, str]) -> str:
    used = raw.used()
    return (
        "the link has no rate"
        if used is None
        else near(said["used"], min(used, 1.0) if used <= 1.06 else used, 0.02)
    )


def both(*checks: Check) -> Check:
    return lambda raw, said: together(*(check(raw, said) for check in checks))


AUDITS: dict[str, Check] = {
    "the application had data to send {busy} of the time": _busy,
    "the application writes too slowly, TCP waited for data {starved} of the time": _starved,
    "{window} was full {windowed} of the time": _rwnd,
    "{window} was full: {flight} of it were under way": _filled,
    "the send buffer was full {buffered} of the time": _sndbuf,
    "the send buffer, {buffer}, was full: it has no room for more on its way": _small_buffer,
    "the application paces each flow at {pace}": _paced,
    "fq paces each flow at {maxrate}": _fq,
    "data waits in the sender {held} of the time though the windows have room: its host holds it back": _in_host,
    "{loss} cut the window {times}": _random,
    "{loss} made the sender repeat {retransmits} segments": _repeats,
    "{loss} cut the window {times}, and waiting for timeouts took {stalled} of the time": _random,
    "without SACK a round trip repairs one lost segment: recovery took {recovering} of the time": _one_by_one,
    "{loss} keeps the rate that BBR measures below the link's": _bbr_is_low,
    "the bottleneck is full, its queue adds {queueing} and marks {marked}": both(_is_full, _adds, _marks),
    "the bottleneck is full, its queue adds {queueing}": both(_is_full, _adds),
    "a bottleneck is full, the queues of both add {queueing}": both(_is_full, _adds),
    "the queues of both bottlenecks add {queueing}": both(_used_most, _adds),
    "the bottleneck is full, its queue marks {marked} before it must drop any": both(_is_full, _marks),
    "the bottleneck is full, {qdisc} drops some ({drops}) to keep its queue short": both(
        _is_full, _dropped, _keeps_short
    ),
    "the bottleneck is full, {qdisc} drops some to keep its queue short": both(
        _is_full, _drops_some, _keeps_short
    ),
    "the bottleneck is full": both(_is_full, _no_dry_link),
    "{qdisc} marks {marked} to keep the bottleneck's queue short": both(_marks, _keeps_short),
    "the bottleneck's queue marks {marked}": _marks,
    "{qdisc} drops {drops} segments to keep the bottleneck's queue short": both(_dropped, _keeps_short),
    "{qdisc} drops segments to keep the bottleneck's queue short: {retransmits} retransmitted": both(
        _drops_some, _again, _keeps_short
    ),
    "the bottleneck's short queue overflows: {drops} dropped, {retransmits} retransmitted": both(
        _dropped, _again, _short
    ),
    "the bottleneck's short queue overflows: {retransmits} retransmitted": both(_drops_some, _again, _short),
    "the bottleneck's queue adds {queueing}": both(_used_most, _adds),
    "the bottleneck's queue overflows: {drops} dropped, {retransmits} retransmitted": both(_dropped, _again),
    "the bottleneck's queue overflows: {retransmits} retransmitted": both(_drops_some, _again),
    "BBR sends at the rate that it measures": _bbr,
    "the reverse path, {back}, has no room for more acknowledgements": way_back,
    "data fills the reverse path, {return}: its queue adds {return_queueing} to the round trip": _return,
    "{retransmits} segments were retransmitted: a queue overflowed, for the path loses none": _only_a_queue,
    "no rate is set, and a processor was busy {processor} of the time: this computer is the bottleneck": _computer,
    "the window was still growing, {growth} in this time": _growing,
    "segments came out of order: {spurious} were needless": _needless,
    "segments came out of order {reordered} times, and TCP took some for lost": _reordering,
    "waiting for timeouts ({timeouts} of them) took {stalled} of the time": _timeouts,
    "waiting for timeouts took {stalled} of the time": _stalls,
}
"""By a clause's own text."""


def clauses() -> set[str]:
    """Every text that a cause can be told with."""
    return {each.text for those in CLAUSES.values() for each in those}


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(text)))


_PATTERNS = [
    (_pattern(text), AUDITS[text])
    for text in sorted(AUDITS, key=lambda text: len(re.sub(r"{\w+}", "", text)), reverse=True)
]
"""Those with the most words first: "{window} was full" is said of the send buffer in other words."""
_LINK = re.compile(_pattern(LINK_USED.text).pattern + r"\Z")
_LINK_THEN = re.compile(_pattern(LINK_USED_THEN.text).pattern + r"\Z")
_MAIN_LINK = re.compile(r"s([12]) to s[23]: ")
_OTHER_LINK = re.compile(r"; s([12]) to s[23] is (?:full too|([\d.]+ %) used)")
_STRETCH = re.compile(r"from ([\d.e-]+) to ([\d.e+-]+) s ")
_CHANGED = re.compile(r"at ([\d.]+ \w+) (?:the \w+ (?:became|came) [^:]+): ")
_BEFORE = re.compile(r" \(before: ([^()]+)\)\Z")
_CUT = re.compile(r"the link was cut from ([\d.]+) to ([\d.]+) s; ")
_TURNS = re.compile(r" \(((?:first|then) .+)\)\Z")
_STARVING = re.compile(r"; (\d+) of (\d+) flows got (?:next to )?nothing\Z")
_OTHERS = re.compile(r"; (?:flow \d+|\d+ of \d+ flows): [^;]+\Z")
_UDP_BESIDE = re.compile(r"; UDP lost (?P<lost>[\d.e-]+ %|\d+ of \d+)(?P<where> in [^;]+| on the path)?\Z")
_UDP_ALONE = re.compile(
    r"(?:UDP|\d+ UDP flows) sent (?P<sent>[\d.]+ \w+/s)(?: and all of it arrived|, (?P<received>[\d.]+ \w*bit/s)"
    r" arrived: (?P<lost>[\d.e-]+ %|\d+ of \d+) lost(?P<where> .+)?)"
)
_WITHOUT = (
    UNEXPLAINED,
    "nothing was measured",
    "cut short before anything could be measured",
    "its path is not known",
)


def problems(run: Run, report: Report) -> Iterator[str]:
    """What is said of `run`, and false."""
    flows = sorted(set(run.samples.column("flow")))
    said = [
        (report.verdict.sentence, _of_sentence(run, report.verdict.sentence, flows)),
        *((one.sentence, [one.flow]) for one in report.verdict.flows),
    ]
    if run.experiment.link_count > 1:
        yield from _of_two_links(run, report)
        said = []
    for text, whose in said:
        if found := sentence(run, text, whose):
            yield f"{text!r}: {found}"
    yield from audit_reasons.problems(run, report)


def _of_two_links(run: Run, report: Report) -> Iterator[str]:
    """What is said of a run with two bottlenecks in a row, and false: of the fuller one, of the other, of each flow."""
    experiment, text = run.experiment, report.verdict.sentence
    flows = sorted(set(run.samples.column("flow")))
    start, end = measured(run)
    main = _MAIN_LINK.match(text)
    if main is None:
        yield f"{text!r}: which of the links?"
        return
    link = int(main[1]) - 1
    crossing = [flow for flow in flows if experiment.crosses(flow, link)]
    other = _OTHER_LINK.search(text)
    if other:
        used = Raw(_behind(run, (int(other[1]) - 1,)), flows, start, end).used() or 0.0
        if wrong := least("use", used, 0.94) if other[2] is None else near(other[2], used):
            yield f"{text!r}: {wrong}"
        text = text[: other.start()] + text[other.end() :]
    if wrong := sentence(_behind(run, (link,)), text[main.end() :], crossing):
        yield f"{text!r}: {wrong}"
    for one in report.verdict.flows:
        links = experiment.links_of(experiment.pair_of(one.flow))
        if wrong := sentence(_behind(run, links), one.sentence, [one.flow]):
            yield f"{one.sentence!r}: {wrong}"


def _behind(run: Run, links: tuple[int, ...]) -> Run:
    """The run as a flow over these links has it: one queue, whose backlog takes as long as those of all."""
    rates = [run.experiment.at_link(link).path.rate or 1e99 for link in links]
    tables = [run.queues[link] for link in links]
    span = [8 * (rows[-1].sent - rows[0].sent) / rate for rows, rate in zip(tables, rates, strict=True)]
    fuller = span.index(max(span))
    rows = [
        replace(
            each[fuller],
            bytes=round(sum(row.bytes * rates[fuller] / rate for row, rate in zip(each, rates, strict=True))),
            packets=sum(row.packets for row in each),
            drops=sum(row.drops for row in each),
        )
        for each in zip(*tables, strict=True)
    ]
    path = replace(
        run.experiment.path, rate=rates[fuller], queue=run.experiment.at_link(links[fuller]).path.queue
    )
    return replace(run, queue=type(run.queue)(rows), experiment=replace(run.experiment, path=path))


def _of_sentence(run: Run, text: str, flows: Sequence[int]) -> list[int]:
    """Which of `flows` a run's sentence is about: where they go both ways those of one."""
    way = text.startswith(REVERSE)
    return [flow for flow in flows if run.experiment.reversed(flow) == way] or list(flows)


def sentence(run: Run, text: str, flows: Sequence[int]) -> str:
    """What is wrong with one sentence about `flows`; empty for nothing."""
    start, end = measured(run)
    rest = text.removeprefix(REVERSE)
    if text.startswith(_WITHOUT) and not _LINK.search(text):
        return ""
    if udp := _UDP_ALONE.fullmatch(text):
        return _datagrams(run, udp.groupdict())
    whole = Raw(run, flows, start, end)
    wrong = []
    if udp := _UDP_BESIDE.search(rest):
        rest = rest[: udp.start()]
        wrong.append(_datagrams(run, udp.groupdict()))
    changed = _CHANGED.match(rest)
    if changed:
        rest = rest[changed.end() :]
        wrong.append(_changes(run.experiment, changed[0]))
        # What is said of a change is about the time from it to the next one.
        at = time_of(changed[1])
        later = [one.at for one in run.experiment.path.changes if one.at > at + 0.01]
        start, end = at, min([*later, end])
        whole = Raw(run, flows, start, end)
    if cut := _CUT.match(rest):
        rest = rest[cut.end() :]
        wrong.append(_was_cut(run.experiment, float(cut[1]), float(cut[2])))
    then = _LINK_THEN.search(rest)
    if then:
        rest = rest[: then.start()]
        wrong.append(must(bool(_STRETCH.match(rest) or changed), "then is no stretch of time"))
    if link := _LINK.search(rest):
        rest = rest[: link.start()]
        wrong.append(_said_used(whole, link.groupdict()) if whole.columns else "")
    if starving := _STARVING.search(rest):
        rest = rest[: starving.start()]
        wrong.append(_starve(run, int(starving[1]), int(starving[2])))
    if others := _OTHERS.search(rest):
        rest = rest[: others.start()]
    if before := _BEFORE.search(rest):
        rest = rest[: before.start()]
        wrong.append(must(before[1] in CAUSE_NAMES.values() and changed is not None, "before what?"))
    if turns := _TURNS.search(rest):
        rest = rest[: turns.start()]
        total = sum(float(each) for each in re.findall(r", ([\d.]+) s", turns[1]))
        wrong.append(must(total <= end - start + 2, f"{total} s in turn, of {end - start}"))
    if stretch := _STRETCH.match(rest):
        rest = rest[stretch.end() :]
        since, until = float(stretch[1]), float(stretch[2])
        wrong.append(must(start - 0.06 <= since < until <= end, "another time than the measured one"))
        whole = Raw(run, flows, since, until)
    if then and whole.columns:
        wrong.append(_said_used(whole, then.groupdict()))
    if rest.startswith(_WITHOUT):
        return together(*wrong)
    if not whole.columns:
        return together(*wrong)  # results without samples
    return together(*wrong, clause(whole, rest))


def clause(raw: Raw, text: str) -> str:
    """What is wrong with one clause about the flows and the time of `raw`; empty for nothing."""
    for pattern, check in _PATTERNS:
        if found := pattern.fullmatch(text):
            return check(raw, found.groupdict())
    return f"nobody audits {text!r}"


def _starve(run: Run, told: int, of: int) -> str:
    """Flows with less than a hundredth of an equal share."""
    start, end = measured(run)
    every = sorted(set(run.samples.column("flow")))
    got = [Raw(run, [flow], start, end).grown("bytes_acked") for flow in every]
    starving = sum(one < 0.0105 * sum(got) / len(got) for one in got)
    return must(
        of == len(every) and abs(told - starving) <= 1, f"{starving} of {len(every)} got next to nothing"
    )


def _datagrams(run: Run, said: Mapping[str, str | None]) -> str:
    """What is said of UDP, by its receivers' counts and by who dropped packets."""
    lost, sent = (sum(getattr(flow, name) for flow in run.udp) for name in ("lost", "datagrams"))
    where, told = said.get("where") or "", said.get("lost") or "0 of 0"
    counted = told == f"{lost} of {sent}" or (
        told.endswith("%") and not near(told, lost / max(1, sent), 0.002)
    )
    drops = [row.drops for row in run.queue]
    return together(
        must(counted or (told == "0 of 0" and not lost), f"{lost} of {sent} datagrams were lost"),
        must("queue" not in where or "sender" in where or drops[-1] > drops[0], "the queue dropped nothing"),
        must(
            "path" not in where or int(run.fidelity.checks.get("random drops", 0)) > 0,
            "the path dropped nothing",
        ),
        must("buffer" not in where or any(flow.overruns for flow in run.udp), "no buffer was full"),
    )


def _was_cut(experiment: Experiment, start: float, end: float) -> str:
    """Down at one moment, and up again at the other, or at the end."""
    changes = [(one.at, bool(one.value)) for one in experiment.path.changes if one.name == "link"]
    down = any(abs(at - start) < 0.01 and not up for at, up in changes)
    ends = [at for at, up in changes if up] + [experiment.seconds]
    return must(down and any(abs(at - end) < 0.01 for at in ends), f"the link changes at {changes}")


def _changes(experiment: Experiment, text: str) -> str:
    at = time_of(text)
    return must(any(abs(one.at - at) <= 0.01 * at for one in experiment.path.changes), "nothing changes then")
