"""Run files: what is written is read back, wrong contents cost one line, and no step handles much at once."""

from __future__ import annotations

import gzip
import json
import math
import random
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor import run as run_module
from tcptutor.base.errors import TutorError
from tcptutor.run import AckSample, AckTable, Run, Sample, SampleTable, files, load, save
from tcptutor.spec import PARAMETERS
from tcptutor.wire.protocol import RunExperiment
from tests.analysis.synthetic import experiment, run_of

FILES = Path(__file__).parent / "files"
TWO_FLOWS = FILES / "two-flows.tcprun"


@pytest.fixture(scope="module")
def run() -> Run:
    """Several blocks of samples, a few ACKs, no queue; times with the digits that a difference of clocks has."""
    made = run_of(experiment(streams="16", duration="60 s"), *[5e6] * 16)
    noise = random.Random(1)
    times = made.samples.column("t")
    times[:] = array("d", [t + noise.random() * 1e-4 for t in times])
    made.acks = AckTable([AckSample(0, 0.1, 10, 20, 0.05), AckSample(1, 0.2, 10, 20, 1 / 3)])
    return made


def text_of(path: Path) -> list[Any]:
    """The decoded lines of a run file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def written(path: Path, lines: list[Any]) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode(), 1))
    return path


def test_a_run_is_read_back_as_it_was_written_to_the_nanosecond(run: Run, tmp_path: Path) -> None:
    save(run, tmp_path / "deep" / "x.tcprun")
    again = load(tmp_path / "deep" / "x.tcprun")
    for name in ("samples", "acks"):
        ours, theirs = getattr(run, name), getattr(again, name)
        for field in ours.row.__struct_fields__:
            assert list(theirs.column(field)) == [
                round(number, 9) if isinstance(number, float) else number for number in ours.column(field)
            ]
        setattr(again, name, ours)
    assert again == run
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["x.tcprun"]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for path in FILES.glob("*.tcprun"):
        save(load(path), tmp_path / "x.tcprun")
        assert (tmp_path / "x.tcprun").read_bytes() == path.read_bytes()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_an_unknown_number_is_null(numbers: list[float]) -> None:
    rows = [
        run_module.UdpSample(0, 0.0, 1, 1, 0, None),
        *(run_module.UdpSample(0, 1.0, 1, 1, 0, n) for n in numbers),
    ]
    table = run_module.UdpTable(rows)
    columns = json.loads(json.dumps(table.to_columns()))
    assert columns["jitter"][0] is None
    again = run_module.UdpTable.from_columns(columns)
    assert math.isnan(again.column("jitter")[0])
    assert len(again) == len(rows)


def test_no_step_handles_more_than_a_block(run: Run) -> None:
    """Bounded work per call of the decoder keeps other threads running, on any machine."""
    lines = list(files.text_lines(run))
    sizes = [len(block["samples"]["t"]) for block in map(json.loads, lines[1:]) if "samples" in block]
    assert len(sizes) > 2
    assert set(sizes[:-1]) == {files.ROWS}
    assert max(map(len, lines)) < files.LONGEST_LINE / 2


def test_the_longest_experiment_of_a_dozen_flows_can_be_read(run: Run) -> None:
    """By the bounds of the parameters and the bytes of a row with every digit that a clock gives."""
    seconds = PARAMETERS["duration"].high + PARAMETERS["warmup"].high
    lines = list(files.text_lines(load(TWO_FLOWS)))
    row = len(lines[1]) / 60
    rows = seconds * RunExperiment(run.experiment).sample_hz
    assert 12 * rows * 1.25 * row < files.LARGEST


def test_unknown_names_are_ignored_and_a_missing_column_has_its_default(tmp_path: Path) -> None:
    head, samples, *others = text_of(TWO_FLOWS)
    head["of a later minor version"] = {"a": ["]", '\\"}', {"b": None}], "c": -1.5e-3, "d": {}}
    samples["samples"]["later"] = list(range(60))
    del samples["samples"]["bytes_received"]
    again = load(written(tmp_path / "x.tcprun", [head, {"later": {"x": [1]}}, samples, *others]))
    assert set(again.samples.column("bytes_received")) == {0}
    ours = load(TWO_FLOWS)
    again.samples.column("bytes_received")[:] = ours.samples.column("bytes_received")
    assert again == ours


def change_head(**values: Any) -> Callable[[Any, Any], None]:
    return lambda head, _: head.update(values)


def change_samples(**values: Any) -> Callable[[Any, Any], None]:
    return lambda _, block: block["samples"].update(values)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda _, block: block["samples"].pop("cwnd"), "field `cwnd`"),
        (lambda _, block: block["samples"]["cwnd"].pop(), "different lengths"),
        (change_samples(cwnd=["x"] * 60), "int"),
        (change_samples(cwnd=[1 << 70] * 60), "int"),
        (change_samples(app_limited=[1000] * 60), "range|greater"),
        (change_samples(cwnd=[[1]] * 60), "int"),
        (change_samples(t=[None] * 60), "float"),
        (change_samples(t=3), "array"),
        (change_samples(t=[1.0] * 30 + [0.5] * 30), "do not rise"),
        (lambda _, block: block.update(samples=3), "object"),
        (lambda head, _: head.pop("format_version"), "format_version"),
        (lambda head, _: head.pop("experiment"), "experiment"),
        (change_head(flows={}), "array"),
        (change_head(samples={"t": []}), "SampleTable"),
    ],
)
def test_wrong_contents_are_told_in_one_line(tmp_path: Path, change: Any, says: str) -> None:
    head, block, *others = text_of(TWO_FLOWS)
    change(head, block)
    path = written(tmp_path / "x.tcprun", [head, block, *others])
    with pytest.raises(
        TutorError, match=f"x.tcprun is not a run file, or damaged .*({says}).*: run"
    ) as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_blocks_follow_each_other_in_time(tmp_path: Path) -> None:
    head, block, *others = text_of(TWO_FLOWS)
    with pytest.raises(TutorError, match="do not rise"):
        load(written(tmp_path / "x.tcprun", [head, block, block, *others]))


@given(st.data())
def test_no_damage_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = bytearray(gzip.decompress(TWO_FLOWS.read_bytes()))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 40))] = data.draw(
            st.sampled_from(
                [
                    b"",
                    b'"',
                    b"[",
                    b"]",
                    b"{",
                    b"}",
                    b",",
                    b"\n",
                    b"\\",
                    b"-",
                    b"1e999",
                    b"null",
                    b"\xff",
                    b"9" * 30,
                ]
            )
        )
    path = tmp_path_factory.getbasetemp() / "mutated.tcprun"
    path.write_bytes(gzip.compress(bytes(whole), 1))
    try:
        load(path)
    except TutorError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda _: b"hello", lambda _: gzip.compress(b"[]")]
)
def test_a_damaged_file_is_told_in_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x.tcprun"
    path.write_bytes(damage(TWO_FLOWS.read_bytes()))
    with pytest.raises(TutorError, match="damaged"):
        load(path)


def test_missing_files_and_other_formats_are_told(tmp_path: Path) -> None:
    with pytest.raises(TutorError, match="no run file"):
        load(tmp_path / "none.tcprun")
    with pytest.raises(TutorError, match=f"cannot read {tmp_path}: Is a directory: choose a run file"):
        load(tmp_path)
    for version, says in ((run_module.FORMAT_VERSION + 1, "newer tcptutor"), (2, "older tcptutor")):
        head, *blocks = text_of(TWO_FLOWS)
        head["format_version"] = version
        with pytest.raises(TutorError, match=says):
            load(written(tmp_path / "x.tcprun", [head, *blocks]))


FULL_DISK = """
mount -t tmpfs -o size=64k none {folder}
head -c 60000 /dev/zero > {folder}/filler
exec {python} - <<'END'
import random
from pathlib import Path
from tcptutor import run, spec
from tcptutor.base.errors import TutorError
made = run.Run(id="x" , experiment=spec.build("m/e", {{}}), environment=run.Environment(backend="h", clock="r",
    kernel="6"), started="now", note=random.randbytes(200_000).hex())
try:
    run.save(made, Path("{folder}/x.tcprun"))
except TutorError as error:
    print(error)
print(sorted(path.name for path in Path("{folder}").iterdir()))
END
"""


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    script = FULL_DISK.format(folder=tmp_path, python=sys.executable)
    done = subprocess.run(
        ["unshare", "-Urm", "bash", "-c", script], capture_output=True, text=True, check=True
    )
    line, left = done.stdout.strip().splitlines()
    assert "No space left" in line
    assert "free some space" in line
    assert left == "['filler']"


def _sample(flow: int, t: float, cwnd: int) -> Sample:
    return Sample(
        flow=flow, t=t, cwnd=cwnd, ssthresh=run_module.SSTHRESH_INFINITE, mss=1448, rtt=0.02, rttvar=0.001,
        min_rtt=0.02, bytes_acked=int(t * 1e6), segs_out=10, retransmits=0, delivery_rate=1e6, pacing_rate=2e6,
        snd_wnd=65536, ca_state=0, app_limited=False, busy=t, rwnd_limited=0.0, sndbuf_limited=0.0, reord_seen=0,
        dsack_dups=0, rto=0.2,
    )  # fmt: skip


def test_samples_are_columns_and_read_like_a_list() -> None:
    table = SampleTable([_sample(0, 0.0, 10), _sample(1, 0.0, 11), _sample(0, 0.05, 12)])
    assert list(table.column("cwnd")) == [10, 11, 12]
    assert table[-1] == _sample(0, 0.05, 12)
    assert [row.flow for row in table] == [0, 1, 0]
    assert list(table[1:]) == [_sample(1, 0.0, 11), _sample(0, 0.05, 12)]
    assert table != SampleTable(table[1:])
    assert SampleTable(iter(table)) == table
    assert [table[at] for at in range(3)] == list(table)
    assert table[2].app_limited is False
    with pytest.raises(IndexError):
        table[3]
