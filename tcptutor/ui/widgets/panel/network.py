"""Line of a run's network: senders, queue and path, as they are now."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.base import sizes, units
from tcptutor.figures.lines import BAD, MUTED, STRONG, TEXT, Line, Piece
from tcptutor.spec import Experiment
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.chart.strips import DROPPED

_QUEUE_COLUMNS = 12

_SILENCE_S = 0.6
"""Seconds without progress after which a host counts as silent."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LINK_STYLE = "link"


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
    pairs = [experiment.pair_of(flow) for flow in range(experiment.total_streams)]
    for pair in range(experiment.pairs):
        flows = (history.flows.get(flow) for flow, own in enumerate(pairs) if own == pair)
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
        (f"{sizes.decimal(waiting, 2):>8}", TEXT),
    ]
