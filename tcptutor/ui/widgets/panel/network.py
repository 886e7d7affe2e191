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
_SHORT_QUEUES = 5, 3, 0
"""Columns of each of two queues; the first value that fits is used."""

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
    if experiment.link_count > 1:
        lines = [_row(live, history, columns) for columns in _SHORT_QUEUES]
        return next((line for line in lines if len(line.text) <= width), lines[-1]).fit(width)
    left: list[Piece] = [*senders, (" s1 ", TEXT), *_gauge(live, history, 0, _QUEUE_COLUMNS)]
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


def _row(live: Live, history: History, columns: int) -> Line:
    """Return the state of two bottlenecks in a row, with the hosts at each of the three switches.

    ▶h1▶h3 s1 ▕███ ▏52 kB ▼22 ═▶ h4▶h5 s2 ▕████▏97 kB ▼31 ═▶ s3 h2 h6
    """
    experiment = live.run.experiment
    senders, pieces = [*_senders(experiment, history)], list[Piece]()
    for link, switch in enumerate(("s1", "s2")):
        for pair in range(experiment.pairs):
            links = experiment.links_of(pair)
            if links[0] == link:
                pieces += senders[2 * pair : 2 * pair + 2]
            elif link and links == (0,):
                pieces.append((f"h{2 * pair + 2} ", TEXT))
        pieces += [
            (f" {switch} ", TEXT),
            *_gauge(live, history, link, columns),
            (" ═▶ ", _LINK_STYLE),
        ]
    receivers = (f"h{2 * pair + 2}" for pair in range(experiment.pairs) if 1 in experiment.links_of(pair))
    return Line.of(*pieces, (f"s3 {' '.join(receivers)}", TEXT))


def _gauge(live: Live, history: History, link: int, columns: int) -> list[Piece]:
    """Return the backlog of a bottleneck's queue and its drops; empty without samples."""
    path, table, queue = live.run.experiment.at_link(link).path, live.run.queues[link], history.queues[link]
    if not (path.rate and path.queue and table):
        return []
    waiting = table.column("bytes")[-1] if len(table.column("sent")) else 0
    eighths = min(8 * columns, round(waiting / path.queue * 8 * columns))
    bar = _EIGHTHS[8] * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    is_full = waiting > 0.9 * path.queue
    bar_pieces = (
        [("▕", MUTED), (bar.ljust(columns), BAD if is_full else "block"), ("▏", MUTED)] if columns else []
    )
    return [
        *bar_pieces,
        (f"{sizes.decimal(waiting, 2):>8}", TEXT),
        (f" {DROPPED}{queue.total_dropped}", BAD if queue.total_dropped else MUTED),
    ]
