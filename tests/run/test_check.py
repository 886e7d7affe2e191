"""What is no run is refused where it enters, in one line; what is one is let in."""

from __future__ import annotations

import gzip
import math
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tcptutor.base import places
from tcptutor.run import TABLES, Fidelity, QueueSample, Run, files, load
from tcptutor.run.check import check
from tests.analysis.synthetic import experiment, run_of
from tests.fuzz.mutate import CONTROL, bomb
from tests.fuzz.reader import Reader, refusal

TWO_FLOWS = Path(__file__).parent / "files" / "two-flows.tcprun"


def column(name: str, values: list[Any], table: str = "samples") -> Callable[[Run], None]:
    """Puts these at the end of that column."""

    def change(run: Run) -> None:
        found: array[Any] = getattr(run, table).column(name)
        found[-len(values) :] = array(found.typecode, values)

    return change


def of(part: str, **values: Any) -> Callable[[Run], None]:
    def change(run: Run) -> None:
        setattr(run, part, replace(getattr(run, part), **values))

    return change


@pytest.fixture
def run() -> Run:
    made = run_of(experiment(streams="2"), 5e6, 5e6)
    made.queue.extend([QueueSample(0.0, 0, 0, 0, 0), QueueSample(1.0, 1, 1, 0, 100)])
    made.flows = []
    check(made)
    return made


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (column("t", [math.nan]), "samples: t is not a number"),
        (column("rtt", [math.inf]), "samples: rtt is out of bounds"),
        (column("t", [1e6]), "samples: t is out of bounds"),
        (column("t", [5.0, 5.0]), "samples: the times of . do not rise"),
        (column("t", [-1.0]), "samples: t is out of bounds"),
        (column("t", [9.0, 8.0], "queue"), "queue: its times do not rise"),
        (column("bytes_acked", [-1]), "samples: bytes_acked is out of bounds"),
        (column("bytes_acked", [1 << 62]), "samples: bytes_acked is out of bounds"),
        (column("flow", [2]), "samples: a row of flow 2, of 2"),
        (of("environment", kernel=CONTROL), "kernel: control characters"),
        (of("environment", versions={"a": "\u202e"}), "environment: control characters"),
        (of("fidelity", reasons=("two\nlines",)), "sentences: control characters"),
        (of("fidelity", checks={"steal": math.nan}), "checks: steal is out of bounds"),
        (of("experiment", title=CONTROL), "title"),
        (lambda run: setattr(run, "note", "x" * 3000), "sentences: 3000 characters"),
        (lambda run: setattr(run, "id", "../../etc/passwd"), "the id is not a plain name"),
        (lambda run: setattr(run, "started", "2025-13-45"), "started: not a date"),
        (
            lambda run: setattr(run, "started", "2025-01-02T03:04:05"),
            "started: not a date with .* a time zone",
        ),
        (lambda run: setattr(run, "started", "0001-01-01T00:00:00+14:00"), "started: not a date"),
        (lambda run: setattr(run, "wall_s", math.inf), "wall_s is out of bounds"),
    ],
)
def test_what_is_no_run_is_refused(run: Run, change: Callable[[Run], None], says: str) -> None:
    change(run)
    with pytest.raises(ValueError, match=says) as caught:
        check(run)
    assert str(caught.value).isprintable()


def test_the_runs_that_are_kept_are_let_in() -> None:
    recorded = sorted((places.assets() / "recorded").rglob("*.tcprun"))
    assert len(recorded) > 100
    for path in [*recorded[::10], TWO_FLOWS]:
        check(load(path))


def test_a_check_that_is_a_text_where_a_number_is_meant_counts_as_none() -> None:
    checks: dict[str, Any] = {"random drops": "many", "steal": 0.5, "firewall drops": True}
    assert [Fidelity(checks=checks).number(name) for name in (*checks, "other")] == [0.0, 0.5, 1.0, 0.0]


def _head() -> bytes:
    return gzip.decompress(TWO_FLOWS.read_bytes()).partition(b"\n")[0] + b"\n"


def _dense(table: str, rows: int = files.ROWS) -> bytes:
    """A table of as many blocks as fit into a text of 90 MB."""
    names = TABLES[table].row.__struct_fields__
    columns = ",".join(f'"{name}":[{"0," * (rows - 1)}0]' for name in names)
    line = f'{{"{table}":{{{columns}}}}}\n'.encode()
    return gzip.compress(_head() + line * ((90 << 20) // len(line)), 1, mtime=0)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "3 MB of spaces": lambda: bomb(3 << 30),
    "zeros": lambda: bomb(1 << 30, b"\0"),
    "samples": lambda: _dense("samples"),
    "acks": lambda: _dense("acks"),
    "tiny blocks": lambda: _dense("queue", 1),
    "empty lines": lambda: gzip.compress(_head() + b"{}\n" * (30 << 20), 1, mtime=0),
    "keys": lambda: gzip.compress(
        b"{" + b",".join(b'"%d":0' % n for n in range(1_000_000)) + b"}\n", 1, mtime=0
    ),
    "one text": lambda: gzip.compress(b'{"note":"' + b"x" * (80 << 20) + b'"}\n', 1, mtime=0),
    "brackets": lambda: gzip.compress(_head() + b'{"samples":' + b"[" * (80 << 20), 1, mtime=0),
    "nested": lambda: gzip.compress(b'{"experiment":' + b'{"a":' * 400_000 + b"\n", 1, mtime=0),
    "digits": lambda: gzip.compress(b'{"format_version":3,"wall_s":' + b"9" * 5000 + b"}\n", 1, mtime=0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_file_never_takes_much(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tcprun"
    path.write_bytes(HOSTILE[name]())
    assert path.stat().st_size < 4 << 20
    line = refusal(Reader("run file", ".tcprun", list, load), path)
    assert line.isprintable() and len(line) < 600
