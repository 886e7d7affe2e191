"""Drawing of an experiment's network with the lab manuals' host names, and a line of its live state."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.base import units
from tcptutor.figures.lines import BAD, MUTED, STRONG, TEXT, Line, Piece
from tcptutor.spec import Experiment, Path
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.chart.strips import DROPPED

LINK_COLUMNS = 18
"""Columns of the link between the switches."""

_QUEUE_COLUMNS = 12

_SILENCE_S = 0.6
"""Seconds without progress after which a host counts as silent."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LINK_STYLE = "link"


def drawing(experiment: Experiment) -> list[Line]:
    """Return hosts, switches and settings of the path.

    h1 ──┐                          ┌── h2
    h3 ──┴─ s1 ══════════════ s2 ───┴── h4
    """
    lines = [_pair(pair, experiment.pairs) for pair in range(experiment.pairs)]
    indent = " " * 12
    return [*lines, Line(), *(Line.of((indent + text, TEXT)) for text in _path(experiment))]


def _pair(pair: int, pairs: int) -> Line:
    left, right = f"h{2 * pair + 1} ─", f"─ h{2 * pair + 2}"
    if pair == pairs // 2:
        joint = ("─", "─") if pairs == 1 else ("┴", "┴") if pair == pairs - 1 else ("┼", "┼")
        # The link between the switches, where the path is emulated, is drawn double.
        return Line.of(
            (f"{left}─{joint[0]}── s1 ", TEXT),
            ("═" * LINK_COLUMNS, _LINK_STYLE),
            (f" s2 ──{joint[1]}─{right}", TEXT),
        )
    joint = ("┐", "┌") if pair == 0 else ("┘", "└") if pair == pairs - 1 else ("┤", "├")
    return Line.of((f"{left}─{joint[0]}{' ' * (LINK_COLUMNS + 12)}{joint[1]}─{right}", TEXT))


def _rate(path: Path) -> str:
    if path.unread:
        return f"not known, for {', '.join(path.unread)} is not read"
    return units.rate(path.rate) if path.rate else "not limited"


def _path(experiment: Experiment) -> list[str]:
    """Return the settings of s1's interface towards s2 and of the hosts, a line each."""
    path, hosts, flows = experiment.path, experiment.hosts, experiment.flows
    jitter = f" ± {units.seconds(path.jitter)}" if path.jitter else ""
    candidates = (
        (f"rate    {_rate(path)}", True),
        (f"delay   {units.seconds(path.delay)}{jitter}, which is the RTT", bool(path.delay)),
        (f"loss    {units.percent(path.loss)} of the segments, at random", bool(path.loss)),
        (f"queue   {path.queue_text}", bool(path.rate)),
        (f"window  {units.size(hosts.window or 0)}, the receiver's", hosts.window is not None),
        (f"pacing  {units.rate(flows.pacing or 0)} a flow", flows.pacing is not None),
        (f"fq      maxrate {units.rate(hosts.maxrate or 0)} a flow", hosts.maxrate is not None),
        (f"MTU     {hosts.mtu} bytes", hosts.mtu != 1500),
        (f"sender  {hosts.algorithm}, {flows.streams} flow{'s' if flows.streams > 1 else ''} a host", True),
    )
    return [text for text, shown in candidates if shown]


def live_line(live: Live, history: History, width: int) -> Line:
    """Return the live state in a line: senders, queue gauge, drops, and the path.

    ▶h1 s1 ▕███▌        ▏312 kB ▼617  ══ 50 Mbit/s · 50 ms · loss 0.1 % ══▶ s2 h2
    """
    experiment = live.run.experiment
    path = experiment.path
    senders = _senders(experiment, history)
    left: list[Piece] = [*senders, (" s1 ", TEXT)]
    if path.rate and path.queue and live.run.queue:
        left += _queue_gauge(live, path.queue)
        dropped = f" {DROPPED}{history.total_dropped}"
        left.append((dropped, BAD if history.total_dropped else MUTED))
    right = f" s2 {' '.join(f'h{2 * pair + 2}' for pair in range(experiment.pairs))}"
    facts = [units.rate(path.rate) if path.rate else "no rate limit"]
    if path.delay:
        facts.append(units.seconds(path.delay))
    if path.loss:
        facts.append(f"loss {units.percent(path.loss)}")
    room = width - sum(len(text) for text, _ in left) - len(right)
    while facts and len(" · ".join(facts)) + 6 > room:
        facts.pop()
    label = f" {' · '.join(facts)} " if facts else ""
    free = max(0, room - len(label) - 1)
    dashes = min(free, 8)
    link: list[Piece] = [
        (" ", TEXT),
        ("═" * (dashes // 2), _LINK_STYLE),
        (label, TEXT),
        ("═" * max(0, dashes - dashes // 2 - 1) + "▶", _LINK_STYLE),
    ]
    return Line.of(*left, *link, (right, TEXT)).fit(width)


def _senders(experiment: Experiment, history: History) -> Iterator[Piece]:
    flows_per_pair = max(1, experiment.total_streams // max(1, experiment.pairs))
    for pair in range(experiment.pairs):
        flows = (
            history.flows.get(flow) for flow in range(pair * flows_per_pair, (pair + 1) * flows_per_pair)
        )
        sends = any(flow is not None and history.until - flow.until < _SILENCE_S for flow in flows)
        yield ("▶" if sends else "·", "good" if sends else MUTED)
        yield (f"h{2 * pair + 1}", STRONG if sends else MUTED)


def _queue_gauge(live: Live, size: int) -> list[Piece]:
    table = live.run.queue
    waiting = table.column("bytes")[-1] if len(table.column("sent")) else 0
    eighths = min(8 * _QUEUE_COLUMNS, round(waiting / size * 8 * _QUEUE_COLUMNS))
    bar = _EIGHTHS[8] * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    is_full = waiting > 0.9 * size
    return [
        ("▕", MUTED),
        (bar.ljust(_QUEUE_COLUMNS), BAD if is_full else "block"),
        ("▏", MUTED),
        (f"{units.size(waiting, 2):>8}", TEXT),
    ]
