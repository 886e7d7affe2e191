import gzip
import json
import subprocess
from pathlib import Path

import pytest

from tcptutor import run, spec
from tcptutor.base.errors import TutorError


def _sample(flow: int, t: float, cwnd: int) -> run.Sample:
    return run.Sample(
        flow=flow, t=t, cwnd=cwnd, ssthresh=run.SSTHRESH_INFINITE, mss=1448, rtt=0.02, rttvar=0.001, min_rtt=0.02,
        bytes_acked=int(t * 1e6), segs_out=10, retransmits=0, delivery_rate=1e6, pacing_rate=2e6, snd_wnd=65536,
        ca_state=0, app_limited=False, busy=t, rwnd_limited=0.0, sndbuf_limited=0.0, reord_seen=0, dsack_dups=0,
        rto=0.2,
    )  # fmt: skip


@pytest.fixture
def made() -> run.Run:
    return run.Run(
        id="x",
        experiment=spec.build("m/e", {"parameters": {"rate": "10 Mbit/s", "streams": 2}}),
        environment=run.Environment(backend="host", clock="real", kernel="6.1"),
        started="2026-01-01T00:00:00+00:00",
        samples=run.SampleTable([_sample(0, 0.0, 10), _sample(1, 0.0, 11), _sample(0, 0.05, 12)]),
    )


def test_a_run_is_read_back_as_it_was_written(made: run.Run, tmp_path: Path) -> None:
    run.save(made, tmp_path / "deep" / "x.tcprun")
    assert run.load(tmp_path / "deep" / "x.tcprun") == made
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["x.tcprun"]


def test_samples_are_columns_and_read_like_a_list(made: run.Run) -> None:
    table = made.samples
    assert list(table.column("cwnd")) == [10, 11, 12]
    assert table[-1] == _sample(0, 0.05, 12)
    assert [row.flow for row in table] == [0, 1, 0]
    assert list(table[1:]) == [_sample(1, 0.0, 11), _sample(0, 0.05, 12)]
    assert table != run.SampleTable(table[1:])
    assert run.SampleTable(iter(table)) == table


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda _: b"hello", lambda _: gzip.compress(b"[]")]
)
def test_a_damaged_file_is_told_in_one_line(made: run.Run, tmp_path: Path, damage: object) -> None:
    path = tmp_path / "x.tcprun"
    run.save(made, path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(TutorError, match="damaged"):
        run.load(path)


def test_a_missing_file_and_a_newer_format(made: run.Run, tmp_path: Path) -> None:
    with pytest.raises(TutorError, match="no run file"):
        run.load(tmp_path / "none.tcprun")
    made.format_version = run.FORMAT_VERSION + 1
    run.save(made, tmp_path / "new.tcprun")
    with pytest.raises(TutorError, match="newer tcptutor"):
        run.load(tmp_path / "new.tcprun")


def test_a_file_that_may_not_be_read_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    with pytest.raises(TutorError, match=f"cannot read {tmp_path}: Is a directory: choose a run file"):
        run.load(tmp_path)


STORED = Path(__file__).parent / "files"


@pytest.mark.parametrize(
    ("version", "name", "flows", "samples", "throughput"),
    [(1, "parallel-streams/random-loss", 1, 21, 12.5e6), (2, "parallel-streams/random-loss", 1, 601, 14.3e6)],
)
def test_a_stored_file_of_each_version_is_read(
    tmp_path: Path, version: int, name: str, flows: int, samples: int, throughput: float
) -> None:
    """The files are what that version wrote, and never change. A new version adds its own."""
    path = STORED / f"v{version}.tcprun"
    assert json.loads(gzip.decompress(path.read_bytes()))["format_version"] == version
    read = run.load(path)
    assert (read.format_version, read.experiment.name) == (run.FORMAT_VERSION, name)
    assert read.environment.backend == "guest"
    assert (len(read.flows), len(read.samples)) == (flows, samples)
    assert read.samples[-1].bytes_acked > 0
    assert sum(flow.throughput_bps for flow in read.flows) == pytest.approx(throughput, rel=0.01)
    # Written again it is of this version, and the same but for what is below a nanosecond.
    run.save(read, tmp_path / "again.tcprun")
    again = run.load(tmp_path / "again.tcprun")
    for name in run.Sample.__struct_fields__:
        assert list(again.samples.column(name)) == pytest.approx(list(read.samples.column(name)), abs=1e-9)
    again.samples = read.samples
    assert again == read


def test_every_version_has_its_stored_file() -> None:
    assert {path.stem for path in STORED.iterdir()} == {f"v{n}" for n in range(1, run.FORMAT_VERSION + 1)}


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
    import sys

    script = FULL_DISK.format(folder=tmp_path, python=sys.executable)
    done = subprocess.run(
        ["unshare", "-Urm", "bash", "-c", script], capture_output=True, text=True, check=True
    )
    line, files = done.stdout.strip().splitlines()
    assert "No space left" in line
    assert "free some space" in line
    assert files == "['filler']"
