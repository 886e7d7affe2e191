"""A run's text: what is in it, whoever wrote it, and how much of it one call handles."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from array import array
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base.errors import TutorError
from tcptutor.base.files import PIECE
from tcptutor.run import AckSample, AckTable, Run, SampleTable, Table, files, load, save, text
from tcptutor.spec import PARAMETERS
from tcptutor.wire.protocol import RunExperiment
from tests.analysis.synthetic import empty, experiment, run_of

FILES = Path(__file__).parent / "files"


@pytest.fixture(scope="module")
def run() -> Run:
    """Several pieces of samples, a few ACKs, no queue; times with the digits that a difference of clocks has."""
    made = run_of(experiment(streams="16", duration="60 s"), *[5e6] * 16)
    noise = random.Random(1)
    times = made.samples.column("t")
    times[:] = array("d", [t + noise.random() * 1e-4 for t in times])
    made.acks = AckTable([AckSample(0, 0.1, 10, 20, 0.05), AckSample(1, 0.2, 10, 20, 1 / 3)])
    return made


def in_one_call(run: Run) -> bytes:
    """The text as it was written before it was written in pieces."""

    def columns(table: Any) -> Any:
        return table.to_columns()

    return msgspec.json.encode(run, enc_hook=columns)


def test_pieces_are_the_text_that_one_call_would_write(run: Run, tmp_path: Path) -> None:
    assert b"".join(text.write(run)) == in_one_call(run)
    assert b"".join(text.write(empty(experiment()))) == in_one_call(empty(experiment()))
    save(run, tmp_path / "x.tcprun")
    assert (tmp_path / "x.tcprun").read_bytes() == zlib.compress(in_one_call(run), 6, wbits=31)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_are_written_to_the_nanosecond(numbers: list[float]) -> None:
    table = AckTable([AckSample(0, number, 1, 1, 0.0) for number in numbers])
    wanted = msgspec.json.encode([round(number, 9) for number in numbers])
    assert b'"t":' + wanted + b"," in b"".join(text._write_table(table))


def test_no_call_handles_more_than_a_piece(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine: what keeps other threads waiting is the longest call, and its work is bounded."""
    written = list(text.write(run))
    assert max(piece.count(b",") for piece in written) <= text.NUMBERS
    assert len(run.samples) > 4 * text.NUMBERS
    read: list[int] = []
    take = Table.take_columns

    def watched(table: Table[Any], columns: Any) -> None:
        pieces = {name: list(each) for name, each in columns.items()}
        read.extend(len(piece) for each in pieces.values() for piece in each)
        take(table, pieces)

    monkeypatch.setattr(Table, "take_columns", watched)
    assert text.RunText(bytearray(b"".join(written))).read().samples.column("cwnd") == run.samples.column(
        "cwnd"
    )
    assert max(read) <= PIECE // 2
    assert sum(read) == len(run.samples) * len(run.samples.row.__struct_fields__) + 2 * len(
        run.acks.row.__struct_fields__
    )


@pytest.mark.parametrize("layout", [{"indent": 2}, {"sort_keys": True}, {"separators": (" ,\t", " :\r\n ")}])
def test_a_text_is_read_however_it_is_laid_out(layout: dict[str, Any]) -> None:
    whole = json.loads(gzip.decompress((FILES / "before.tcprun").read_bytes()))
    whole["of a later minor version"] = {"a": ["]", '\\"}', {"b": None}], "c": -1.5e-3, "d": {}}
    whole["samples"]["later"] = list(range(len(whole["samples"]["t"])))
    again = text.RunText(bytearray(json.dumps(whole, **layout).encode())).read()
    assert again == load(FILES / "before.tcprun")


def test_a_column_that_is_missing_has_its_default() -> None:
    whole = json.loads(gzip.decompress((FILES / "before.tcprun").read_bytes()))
    del whole["samples"]["bytes_received"]
    again = text.RunText(bytearray(json.dumps(whole).encode())).read()
    assert set(again.samples.column("bytes_received")) == {0}
    assert len(again.samples) == 60


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda whole: whole["samples"].pop("cwnd"), "no column cwnd"),
        (lambda whole: whole["samples"]["cwnd"].pop(), "different lengths"),
        (lambda whole: whole["samples"].update(cwnd=["x"] * 60), "int"),
        (lambda whole: whole["samples"].update(cwnd=[1 << 70] * 60), "int"),
        (lambda whole: whole["samples"].update(app_limited=[1000] * 60), "range|greater"),
        (lambda whole: whole["samples"].update(cwnd=[[1]] * 60), "int"),
        (lambda whole: whole["samples"].update(t=[None] * 60), "float"),
        (lambda whole: whole["samples"].update(t=3), "no column"),
        (lambda whole: whole.update(samples=3), "array"),
        (lambda whole: whole.update(samples=[[1, 2]]), "length"),
        (lambda whole: whole.pop("format_version"), "format_version"),
        (lambda whole: whole.pop("experiment"), "experiment"),
        (lambda whole: whole.update(flows={}), "array"),
    ],
)
def test_wrong_contents_are_told_in_one_line(tmp_path: Path, change: Any, says: str) -> None:
    whole = json.loads(gzip.decompress((FILES / "before.tcprun").read_bytes()))
    change(whole)
    (tmp_path / "x.tcprun").write_bytes(gzip.compress(json.dumps(whole).encode()))
    with pytest.raises(
        TutorError, match=f"x.tcprun is not a run file, or damaged .*({says}).*: run"
    ) as caught:
        load(tmp_path / "x.tcprun")
    assert "\n" not in str(caught.value)


@given(st.data())
def test_no_damage_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = bytearray(gzip.decompress((FILES / "before.tcprun").read_bytes()))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 40))] = data.draw(
            st.sampled_from(
                [b"", b'"', b"[", b"]", b"{", b"}", b",", b"\\", b"-", b"1e999", b"null", b"\xff", b"9" * 30]
            )
        )
    path = tmp_path_factory.getbasetemp() / "mutated.tcprun"
    path.write_bytes(gzip.compress(bytes(whole), 1))
    try:
        load(path)
    except TutorError as error:
        assert "\n" not in str(error)


def test_what_the_version_before_has_written_is_written_again_as_it_was(tmp_path: Path) -> None:
    """It is what commit bcc46b6 wrote, and never changes. What was not measured then is empty now."""
    run = load(FILES / "before.tcprun")
    assert (len(run.samples), len(run.flows), run.complete, run.experiment_s) == (60, 2, True, 1.5)
    assert run.samples[-1].bytes_acked > 0
    save(run, tmp_path / "x.tcprun")
    # Numbers as they are written: 1.50 is not 1.5.
    before, now = (
        json.loads(gzip.decompress(path.read_bytes()), parse_float=str, parse_int=str)
        for path in (FILES / "before.tcprun", tmp_path / "x.tcprun")
    )
    assert _as_before(now, before) == before
    added = [now[name] for name in now.keys() - before.keys()]
    assert not any(any(each.values()) if isinstance(each, dict) else each for each in added)


def _as_before(now: Any, before: Any) -> Any:
    """`now` without the settings and figures that there were not yet."""
    if isinstance(before, dict):
        return {name: _as_before(now[name], value) for name, value in before.items()}
    if isinstance(before, list) and any(isinstance(each, dict) for each in before):
        return [_as_before(*both) for both in zip(now, before, strict=True)]
    return now


def test_the_longest_experiment_of_a_dozen_flows_can_be_read(run: Run) -> None:
    """By the bounds of the parameters and the bytes of a row with every digit that a clock gives."""
    seconds = PARAMETERS["duration"].high + PARAMETERS["warmup"].high
    row = len(b"".join(text._write_table(load(FILES / "before.tcprun").samples))) / 60
    rows = seconds * RunExperiment(run.experiment).sample_hz
    assert 12 * rows * 1.25 * row < files.LARGEST


def test_rows_are_made_alike_by_number_and_in_turn(run: Run) -> None:
    table = SampleTable(run.samples[:50])
    assert [table[at] for at in range(50)] == list(table)
    assert table[-1] == list(table)[-1]
    assert table[3].app_limited is False
    with pytest.raises(IndexError):
        table[50]
