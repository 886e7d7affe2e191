"""Drawing of a network: hosts and switches in a row, interfaces named below the line, with their settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tcptutor.base.columns import wrapped
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import DATA, FRAME, LIMIT, MUTED, STRONG, TEXT, Line
from tcptutor.figures.network.settings import NetworkSettings
from tcptutor.spec import Topology

MARK = "▸"
"""Sign before an interface that a note, a goal or a text is about."""
MAX_WIDTH = 72
"""Columns that a network takes at most."""

_SHORT = 18
"""Characters of a setting that is not broken at the end of a line."""
_NAME = len("s1-eth2")
_NARROW_SWITCH = 10
"""Column of s1 where the names of its interfaces take two rows."""
_ONE_ROW = 52
"""Columns from which the names of a pair's interfaces fit into a row."""
_FULL_NAMES = 60
"""Columns from which the interfaces of several pairs are named in full."""

_SWITCH_NAMES = 42
"""First column of the switches."""


def draw(topology: Topology, width: int, marked: Collection[str] = ()) -> list[Line]:
    """Return the network with the names of its interfaces."""
    width = min(width, MAX_WIDTH)
    if topology.has_second:
        return _three_switches(topology, width, marked)
    return _one_pair(width, marked) if topology.pairs == 1 else _several_pairs(topology, width, marked)


def draw_settings(
    settings: NetworkSettings, notes: Mapping[str, str], width: int, marked: Collection[str] = ()
) -> Iterator[Line]:
    """Yield the settings of each interface, with notes."""
    names = [*settings, *(name for name in notes if name not in settings)]
    kinds = [each.kind for lines in settings.values() for each in lines]
    indent = 1 + max((len(name) for name in names), default=0) + 2
    column = indent + max(map(len, kinds), default=0) + 2
    for name in names:
        rows: list[tuple[str, str]] = []
        for each in settings.get(name, ()):
            first, *others = wrapped(_unbroken(each.text), width - column) or [""]
            rows += [(each.kind, first), *(("", other) for other in others)]
        for row, (kind, text) in enumerate(rows):
            line = _named(name if row == 0 else "", indent, name in marked)
            yield line.append_at(indent, Line.of((kind.ljust(column - indent), MUTED), (text, TEXT)))
        for row, text in enumerate(wrapped(notes[name], width - indent) if name in notes else ()):
            line = _named(name if row == 0 and not rows else "", indent, name in marked)
            yield line.append_at(indent, Line.of((text, TEXT)))


def _unbroken(text: str) -> str:
    """Keep each short setting of a list on a line."""
    parts = text.split(", ")
    return ", ".join(
        part.replace(" ", "\N{NO-BREAK SPACE}") if len(part) <= _SHORT else part for part in parts
    )


def _named(name: str, width: int, is_marked: bool) -> Line:
    sign = MARK if is_marked and name else " "
    return Line.of((sign, LIMIT), (name, LIMIT if is_marked else STRONG)).fit(width)


def _one_pair(width: int, marked: Collection[str]) -> list[Line]:
    topology = Topology()
    ((out, back),) = topology.links
    wide = width >= _ONE_ROW
    first = max(2 * (_NAME + 1), width // 3 - 4) if wide else _NARROW_SWITCH
    second = width - 2 - first
    grid = Grid(width, 2 if wide else 3)
    grid.put(1, 0, "h1", STRONG)
    grid.put_right(width - 1, 0, "h2", STRONG)
    grid.put(4, 0, "─" * (first - 5), FRAME)
    grid.put(second + 3, 0, "─" * (width - second - 7), FRAME)
    _link(grid, 0, first, second)
    below = 1 if wide else 2
    for row, column, name in (
        (1, 1, _host_port(1)),
        (below, first - _NAME, topology.sender_port(0)),
        (1, first + 2, out),
        (1, second - _NAME, back),
        (below, second + 2, topology.receiver_port(0)),
        (1, width - 1 - _NAME, _host_port(2)),
    ):
        _interface(grid, column, row, name, marked)
    return grid.lines()


def _several_pairs(topology: Topology, width: int, marked: Collection[str]) -> list[Line]:
    pairs = topology.pairs
    full = width >= _FULL_NAMES
    # A bare "eth2" next to a host reads as the host's: a switch's interface keeps its name while the row fits.
    switches = width >= _SWITCH_NAMES
    dash, end = (" ─ ", " ") if full else ("─", "─")
    before = (pairs + 1) // 2
    rows = [*range(before), None, *range(before, pairs)]
    left = 1 + len(dash + end) + (2 * _NAME if full else len("h1s1-eth2") if switches else len("h1eth2"))
    right = width - 1 - left
    grid = Grid(width, len(rows))
    for row, pair in enumerate(rows):
        joint = "┐┌" if row == 0 else "┘└" if row == len(rows) - 1 else "├┤" if pair is None else "┤├"
        grid.put(left, row, joint[0], FRAME)
        grid.put(right, row, joint[1], FRAME)
        if pair is None:
            _link(grid, row, left + 2, right - 3)
            continue
        sender, receiver = _host_port(2 * pair + 1), _host_port(2 * pair + 2)
        ports = topology.sender_port(pair), topology.receiver_port(pair)
        host, peer = (name if full else name[:2] for name in (sender, receiver))
        entry, exit_ = (name if switches else name[3:] for name in ports)
        grid.put(1, row, f"{host}{dash}{entry}{end}", FRAME)
        grid.put(right + 1, row, f"{end}{exit_}{dash}{peer}", FRAME)
        _interface(grid, 1, row, sender, marked, host)
        _interface(grid, left - len(end) - len(entry), row, ports[0], marked, entry)
        _interface(grid, right + 1 + len(end), row, ports[1], marked, exit_)
        _interface(grid, width - 1 - len(peer), row, receiver, marked, peer)
    ((out, back),) = topology.links
    _interface(grid, left + 2, before + 1, out, marked)
    _interface(grid, right - 1 - _NAME, before + 1, back, marked)
    return grid.lines()


def _three_switches(topology: Topology, width: int, marked: Collection[str]) -> list[Line]:
    """Return the switches in a row, with their hosts below."""
    across = width // 3
    hosts: dict[str, list[tuple[str, str]]] = {switch: [] for switch in topology.switches}
    for pair in range(topology.pairs):
        ports = topology.sender_port(pair), topology.receiver_port(pair)
        for number, port in enumerate(ports, 2 * pair + 1):
            hosts[port[:2]].append((port, f"h{number}"))
    grid = Grid(width, 2 + max(map(len, hosts.values())))
    for place, (switch, own) in enumerate(hosts.items()):
        left = place * across + 1
        grid.put(left, 0, switch, STRONG)
        if place < len(topology.links):
            out, back = topology.links[place]
            grid.put(left + 3, 0, "═" * (across - 5) + "▶", DATA)
            _interface(grid, left, 1, out, marked)
            if across >= 2 * _NAME + 3:
                _interface(grid, left + across - 2 - _NAME, 1, back, marked)
        for row, (port, host) in enumerate(own, 2):
            shown = port if across > _NAME + len("├  ─ h1 ") else port[3:]
            grid.put(left, row, f"{'└' if row == len(own) + 1 else '├'} {shown} ─", FRAME)
            _interface(grid, left + 2, row, port, marked, shown)
            grid.put(left + len(shown) + 5, row, host, STRONG)
    return grid.lines()


def _host_port(number: int) -> str:
    return f"h{number}-eth0"


def _link(grid: Grid, row: int, first: int, second: int) -> None:
    grid.put(first, row, "s1", STRONG)
    grid.put(second, row, "s2", STRONG)
    # The link between the switches, where the path is emulated, is drawn double.
    grid.put(first + 3, row, "═" * (second - first - 5) + "▶", DATA)


def _interface(
    grid: Grid, column: int, row: int, name: str, marked: Collection[str], shown: str = ""
) -> None:
    """Write the name of an interface, or `shown` in its place."""
    is_host = len(shown) == len("h1")
    grid.put(column, row, shown or name, LIMIT if name in marked else STRONG if is_host else MUTED)
    if name in marked:
        grid.put(column - 1, row, MARK, LIMIT)


def sentence(topology: Topology) -> str:
    """Return the network in words."""
    pairs, hosts = topology.pairs, topology.hosts
    if topology.has_second:
        ways = {"both": "both links", "first": "the link from s1 to s2", "second": "the link from s2 to s3"}
        crossed = (
            f"host h{2 * pair + 1} sends to h{2 * pair + 2} over {ways[crossing]}"
            for pair, crossing in enumerate(topology.crossings)
        )
        return f"Three switches in a row, s1, s2 and s3: {_listed([*crossed])}."
    senders, receivers = _listed(hosts[::2]), _listed(hosts[1::2])
    ((forward, reverse),) = topology.links
    send = f"Host {senders} sends" if pairs == 1 else f"Hosts {senders} send"
    return (
        f"{send} to {receivers} through the switches s1 and s2; "
        f"data leaves s1 through {forward}, and ACKs leave s2 through {reverse}."
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
