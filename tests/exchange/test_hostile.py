"""What files of other programs may hold: a run that passes the check, or one line, and little memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcptutor.base.errors import TutorError
from tcptutor.base.printable import is_printable
from tcptutor.exchange import import_runs
from tests.exchange.places import FILES
from tests.fuzz.mutate import CONTROL, bomb
from tests.fuzz.reader import Reader, refusal

_MB = 1 << 20
_OPEN = b'{"start":{},"intervals":['
LARGE: dict[str, Callable[[], bytes]] = {
    "objects": lambda: _OPEN + b"{}," * (5 * _MB),
    "streams": lambda: _OPEN + b'{"streams":[' + b"{}," * (5 * _MB) + b"{}]}]}",
    "texts": lambda: _OPEN + b'"a",' * (3 * _MB) + b'"a"]}',
    "numbers": lambda: b'{"metadata":{},"results":{},"x_values":[' + b"1.5," * (3 * _MB) + b"1]}",
    "brackets": lambda: b"[" * (12 * _MB),
    "nested": lambda: b'{"start":' * _MB,
    "wide letters": lambda: ("\U0001f600" + " " * (15 * _MB)).encode(),
    "many tests": lambda: b'{"start":{},"intervals":[{"streams":[{"end":1,"bytes":1}]}]}' * 20_000,
    "many streams": lambda: (
        _OPEN + b",".join(b'{"streams":[{"socket":%d,"end":1,"bytes":1}]}' % n for n in range(50_000)) + b"]}"
    ),
}


@pytest.mark.parametrize("name", ["spaces", *LARGE])
def test_a_small_file_never_takes_much(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(bomb(1 << 30) if name == "spaces" else gzip.compress(LARGE[name](), 1, mtime=0))
    assert path.stat().st_size < 3 * _MB
    line = refusal(Reader("imports", ".json", list, import_runs), path)
    assert is_printable(line) and len(line) < 600


def _iperf3(change: Callable[[Any], None]) -> bytes:
    whole = json.loads((FILES / "iperf3-3.12-omit.json").read_bytes())
    change(whole)
    return json.dumps(whole).encode()


def _flent(change: Callable[[Any], None]) -> bytes:
    whole = json.loads(gzip.decompress((FILES / "flent-4-tcp_nup.flent.gz").read_bytes()))
    change(whole)
    return json.dumps(whole).encode()


def _row(whole: Any) -> Any:
    return whole["intervals"][3]["streams"][0]


def _points(whole: Any) -> Any:
    return next(iter(value for name, value in whole["raw_values"].items() if name.startswith("TCP")))


WRONG: dict[str, Callable[[], bytes]] = {
    "negative time": lambda: _iperf3(lambda whole: _row(whole).update(start=-5, end=-4)),
    "time without end": lambda: _iperf3(lambda whole: _row(whole).update(end=1e300)),
    "huge number": lambda: _iperf3(lambda whole: _row(whole).update(bytes=10**400)),
    "5,000 digits": lambda: _iperf3(lambda whole: None).replace(b'"bytes": ', b'"bytes": ' + b"9" * 5000, 1),
    "another type": lambda: _iperf3(lambda whole: _row(whole).update(rtt="x")),
    "flent: another type": lambda: _flent(lambda whole: _points(whole)[5].update(val={})),
    "flent: no time": lambda: _flent(lambda whole: _points(whole)[5].pop("t")),
    "flent: time without end": lambda: _flent(lambda whole: _points(whole)[-1].update(t=1e300)),
    "flent: huge number": lambda: _flent(lambda whole: _points(whole)[5].update(tcp_cwnd=1e300)),
    "flent: results of another type": lambda: _flent(lambda whole: whole.update(results=[1])),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_test_measures_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(WRONG[name]())
    with pytest.raises(TutorError) as caught:
        import_runs(path)
    assert is_printable(str(caught.value)) and len(str(caught.value)) < 600


def test_what_a_file_says_of_itself_is_shown_escaped(tmp_path: Path) -> None:
    def change(whole: Any) -> None:
        whole["start"].update(system_info=f"Linux x {CONTROL} y", version=f"iperf {CONTROL}")
        whole["title"], whole["error"] = CONTROL * 100, f"two\nlines{CONTROL}"
        whole["end"]["sender_tcp_congestion"] = f"reno{CONTROL}"

    path = tmp_path / "x.json"
    path.write_bytes(_iperf3(change))
    (run,) = import_runs(path)
    experiment, where = run.experiment, run.environment
    texts = (experiment.title, experiment.hosts.algorithm, where.kernel, where.reason, run.note)
    assert all(is_printable(text) for text in texts)
    assert r"\x1b]52;c;" in experiment.title and r"\x1b]52;c;" in run.note
