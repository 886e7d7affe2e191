"""Runs whose numbers are others, each still one that the gate may let in: what is behind it stands them."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from tcptutor.run import Run, load
from tcptutor.run.check import check
from tcptutor.run.record import TABLES
from tcptutor.run.tables import Table
from tcptutor.spec import PARAMETERS
from tests.fuzz.reader import Reader
from tests.fuzz.readers.runs import kept_runs, use

_WHOLE = (0, 1, 2, 3, 10, 1448, 65535, 2**31 - 1, 2**31, 2**40, 2**53)
_FLOATS = (0.0, 1e-308, 1e-12, 1e-3, 0.2, 1.0, 1.5, 7.0, 99.0, 3600.0, 1e5, 1e9, 1e15, 1e21)
_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "rate": (None, 1e-3, 1.0, 1e4, 1e11, 1e13),
    "time": (0.0, 1e-12, 1e-3, 1.0, 59.0, 3600.0, 9e4),
    "ratio": (0.0, 1e-12, 1e-9, 0.5, 0.999999, 1.0),
    "size": (None, 0, 1, 1000, 1 << 30, 1 << 50),
    "window": (None, 0, 1, 1000, 3000, 1 << 30, 1 << 50),
    "count": (0, 1, 2, 28, 40, 54, 68, 256, 9000, 65536),
    "number": (0.0, 1e-9, 1.0, 2.0, 1e9),
}
_SYSCTLS = {
    "tcp_window_scaling": "0",
    "tcp_timestamps": "0",
    "tcp_wmem": "1 1 1",
    "tcp_rmem": "4096 2147483647 2147483647",
    "tcp_sack": "x",
}


def _read(path: Path) -> None:
    chance = random.Random(path.read_bytes())
    run = load(chance.choice(kept_runs()))
    _thin(run, chance)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        try:
            before = replace(run), {name: [*table] for name, table in _tables(run).items()}
            chance.choice(_CHANGES)(run, chance)
            check(run)
        except (ValueError, OverflowError, TypeError):
            run = before[0]
            for name, rows in before[1].items():
                setattr(run, name, type(getattr(run, name))(rows))
    check(run)
    use(run, path)


def _tables(run: Run) -> dict[str, Table[Any]]:
    return {name: getattr(run, name) for name in TABLES}


def _thin(run: Run, chance: random.Random) -> None:
    """Fewer samples, from the beginning, the end or all over."""
    for name, table in _tables(run).items():
        most = chance.choice((0, 1, 2, 5, 40, 200))
        if most < len(table):
            step = max(1, len(table) // max(1, most))
            setattr(run, name, chance.choice((table[:most], table[len(table) - most :], table[::step])))


def _cells(run: Run, chance: random.Random) -> None:
    """Some numbers of a column, or all, are others."""
    table = chance.choice([table for table in _tables(run).values() if table] or [run.samples])
    if not table:
        return
    column: array[Any] = table.column(chance.choice(table.row.__struct_fields__))
    values = {"q": _WHOLE, "d": _FLOATS, "b": (0, 1)}[column.typecode]
    value = chance.choice(values)
    kind = chance.random()
    if kind < 0.3:
        column[:] = array(column.typecode, [value] * len(column))
    elif kind < 0.5:
        column[:] = array(column.typecode, sorted(chance.choice(values) for _ in column))
    elif kind < 0.6:
        column[:] = array(column.typecode, reversed(column))
    elif kind < 0.7:
        column[:] = array(column.typecode, [chance.choice(values) for _ in column])
    else:
        column[chance.choice((0, -1, chance.randrange(len(column))))] = value


def _times(run: Run, chance: random.Random) -> None:
    """The times of a table, or of all: all alike, far apart, or later."""
    factor, more = chance.choice((0.0, 1e-9, 1.0, 100.0)), chance.choice((0.0, 1.0, 50_000.0))
    for table in _tables(run).values():
        column: array[float] = table.column("t")
        column[:] = array("d", [t * factor + more for t in column])


def _parameter(run: Run, chance: random.Random) -> None:
    known = chance.choice([*PARAMETERS.values()])
    value = known.of(run.experiment)
    if known.kind in ("changes", "trace"):
        return
    if isinstance(value, bool):
        value = not value
    elif known.choices or known.kind == "name":
        value = chance.choice((*known.choices, "reno", "bbr", "nothing"))
    else:
        value = chance.choice([one for one in _PARAMETERS[known.kind] if one is not None or known.optional])
    value = (value,) * chance.choice((0, 1, 2)) if known.is_list else value
    if known.part:
        part = replace(getattr(run.experiment, known.part), **{known.name: value})
        run.experiment = replace(run.experiment, **{known.part: part})
    else:
        run.experiment = replace(run.experiment, **{known.name: value})


def _sysctl(run: Run, chance: random.Random) -> None:
    name = chance.choice([*_SYSCTLS])
    hosts = replace(run.experiment.hosts, sysctls={name: _SYSCTLS[name]})
    run.experiment = replace(run.experiment, hosts=hosts)


def _result(run: Run, chance: random.Random) -> None:
    """A figure of a flow, a flow that is not there."""
    name = chance.choice(("flows", "udp"))
    results = getattr(run, name)
    if not results:
        return
    at = chance.randrange(len(results))
    if chance.random() < 0.1:
        setattr(run, name, [*results[:at], *results[at + 1 :]])
        return
    figures = {key: value for key, value in asdict(results[at]).items() if not isinstance(value, str)}
    key = chance.choice([*figures])
    whole = isinstance(figures[key], int)
    made = replace(results[at], **{key: chance.choice(_WHOLE if whole else _FLOATS)})
    setattr(run, name, [*results[:at], made, *results[at + 1 :]])


def _frame(run: Run, chance: random.Random) -> None:
    change: Callable[[], None] = chance.choice(
        (
            lambda: setattr(run, "complete", not run.complete),
            lambda: setattr(run, "experiment_s", chance.choice(_FLOATS)),
            lambda: setattr(run, "wall_s", chance.choice(_FLOATS)),
            lambda: setattr(run, "flows", []),
            lambda: setattr(run, "started", chance.choice(("1970-01-02T00:00:00Z", "2200-12-30T00:00:00Z"))),
            lambda: setattr(run, "fidelity", msgspec.structs.replace(run.fidelity, checks={})),
            lambda: setattr(
                run, "experiment", replace(run.experiment, framing=chance.choice((0, 14, 65536)))
            ),
        )
    )
    change()


_CHANGES = (_cells, _cells, _cells, _times, _parameter, _parameter, _parameter, _sysctl, _result, _frame)


def _seeds() -> list[bytes]:
    return [bytes(range(n, n + 64)) for n in range(10)]


READERS: tuple[Reader, ...] = (Reader("runs of other numbers", "", _seeds, _read),)
