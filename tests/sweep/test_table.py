"""The result file: nothing that was finished is ever lost, and one sweep writes it at a time."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.base.printable import is_printable
from tcptutor.commands.sweep import lines
from tcptutor.sweep.results import CellFailure
from tcptutor.sweep.results_file import Store, load
from tests.sweep.made import cells_of, definition_of, row_of, table_of

AXIS = "loss=0.1%,1%,2%"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A sweep of three cells of which two are done."""
    path = tmp_path / "deep" / "x.tcpsweep"
    with Store(path, definition_of(AXIS)) as store:
        for cell in cells_of(AXIS)[:2]:
            store.add(row_of(cell, 1e6))
    return path


def test_what_was_kept_is_read_back(file: Path) -> None:
    table = load(file)
    assert table.definition == definition_of(AXIS)
    assert table.sorted_rows() == [row_of(cell, 1e6) for cell in cells_of(AXIS)[:2]]
    with Store(file, definition_of(AXIS)) as store:
        assert store.table == table


def test_a_file_from_before_differences_and_reasons_is_read(file: Path) -> None:
    whole = load(file).rows[0].predictions[0]
    assert (whole.difference, whole.reason[:7]) == (pytest.approx(-0.8), "the RTT")
    file.write_text(re.sub(r',"difference":[^,]+,"reason":"[^"]*"', "", file.read_text()))
    old = load(file)
    assert old.damaged == 0
    assert (old.rows[0].predictions[0].difference, old.rows[0].predictions[0].reason) == (None, "")
    assert old.rows[0].predictions[0].ratio == whole.ratio
    assert "−80 %" in lines(old)[1]  # by the ratio, which was always there


def test_the_table_says_how_far_a_point_is_from_its_model() -> None:
    head, first, *_, last = lines(table_of(["loss=0.1%,1%", "seed=1..3/3"], throughput=5.2e6))
    assert "difference" in head
    assert re.search(r"Mathis +\+6 ± 5\.2 %  random-loss", first)
    assert last.startswith("± is half the 95% confidence interval")


@pytest.mark.parametrize("torn", [b'{"type":"row","ce', b"\0\0\0", b"\xff"])
def test_a_torn_last_line_is_dropped_and_the_next_row_is_whole(file: Path, torn: bytes) -> None:
    with file.open("ab") as end:
        end.write(torn)
    assert len(load(file).rows) == 2
    with Store(file, definition_of(AXIS)) as store:
        store.add(row_of(cells_of(AXIS)[2], 3e6))
    table = load(file)
    assert sorted(table.rows) == [0, 1, 2]
    assert table.damaged == 0


def test_a_damaged_line_loses_its_own_cell_only(file: Path) -> None:
    written = file.read_bytes().split(b"\n")
    written[1] = written[1][:40] + b"\xff\xfe" + written[1][50:]
    file.write_bytes(b"\n".join(written))
    table = load(file)
    assert (list(table.rows), table.damaged) == ([1], 1)


def test_a_header_that_was_never_finished_is_written_again(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(TutorError, match="is empty"):
        load(file)
    with Store(file, definition_of(AXIS)) as store:
        assert store.table.rows == {}
    assert load(file).definition == definition_of(AXIS)


@pytest.mark.parametrize("text", ["my notes\n", "my notes, without an end", '{"a": 1}\n'])
def test_a_file_that_is_no_sweep_s_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match="not the file of a sweep"):
        Store(path, definition_of(AXIS))
    assert path.read_text() == text


def test_another_sweep_is_refused_with_the_difference(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(UsageError) as caught:
        Store(file, definition_of("loss=0.1%,1%,5%"))
    assert "its grid is loss=0.1%,1%,2%, not loss=0.1%,1%,5%" in str(caught.value)
    assert "-o" in str(caught.value)
    assert file.read_bytes() == before


def test_a_newer_format_and_a_missing_file(file: Path, tmp_path: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"format_version":1', b'"format_version":9'))
    with pytest.raises(TutorError, match="newer tcptutor"):
        load(file)
    with pytest.raises(TutorError, match="no sweep file"):
        load(tmp_path / "none.tcpsweep")
    with pytest.raises(TutorError, match="cannot read"):
        load(tmp_path)


def test_a_failure_is_kept_until_the_cell_has_a_row(file: Path) -> None:
    cell = cells_of(AXIS)[2]
    with Store(file, definition_of(AXIS)) as store:
        store.add(CellFailure(cell=2, point=cell.point, seed=1, reason="the guest has ended"))
    assert load(file).failures[2].reason == "the guest has ended"
    with Store(file, definition_of(AXIS)) as store:
        store.add(row_of(cell, 1e6))
    assert load(file).failures == {}


HOLD = """
import sys
from pathlib import Path
from tcptutor.sweep.results_file import Store
from tests.sweep.made import definition_of
store = Store(Path(sys.argv[1]), definition_of(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_gone(file: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file), AXIS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        with pytest.raises(TutorError, match="another sweep is writing"):
            Store(file, definition_of(AXIS))
        first.kill()
    with Store(file, definition_of(AXIS)) as store:
        assert len(store.table.rows) == 2


FULL = """
mount -t tmpfs -o size=64k none {folder}
exec {python} - <<'END'
from pathlib import Path
from tcptutor.commands.sweep import lines
from tcptutor.base.errors import TutorError
from tcptutor.sweep.results_file import Store, load
from tests.sweep.made import cells_of, definition_of, row_of
path, axis = Path("{folder}/x.tcpsweep"), "loss=1%..30%/200"
cells, kept = cells_of(axis), 0
with Store(path, definition_of(axis)) as store:
    try:
        for cell in cells:
            store.add(row_of(cell, 1e6))
            kept += 1
    except TutorError as error:
        print(error)
print(kept == len(load(path).rows) > 0, load(path).damaged)
END
"""


def test_a_full_disk_keeps_every_row_that_was_there(tmp_path: Path) -> None:
    script = FULL.format(folder=tmp_path, python=sys.executable)
    done = subprocess.run(
        ["unshare", "-Urm", "bash", "-c", script], capture_output=True, text=True, check=True
    )
    line, kept = done.stdout.strip().splitlines()
    assert "No space left" in line
    assert "free some space" in line
    assert kept == "True 0"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TutorError, match="cannot write"):
        Store(tmp_path / "file" / "x.tcpsweep", definition_of(AXIS))


def test_a_compressed_file_is_read_and_never_written(file: Path) -> None:
    packed = gzip.compress(file.read_bytes())
    file.write_bytes(packed)
    assert len(load(file).rows) == 2
    with pytest.raises(UsageError, match="is compressed: unpack it first"), Store(file, definition_of(AXIS)):
        pass
    assert file.read_bytes() == packed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"throughput_bps":1000000.0', '"throughput_bps":1e300'),
        ('"throughput_bps":1000000.0', '"throughput_bps":-1.0'),
        ('"losses":2', f'"losses":{"9" * 5000}'),
        ('"limited_by":"random-loss"', r'"limited_by":"\u001b]52;c;eA==\u0007"'),
        ('"kernel":"6.1"', '"kernel":' + "[" * 5000),
        ('"cell":1', '"cell":-1'),
        ('"point":{"loss":"1%"}', '"point":{"streams":"1%"}'),
    ],
)
def test_a_row_that_no_sweep_wrote_is_left_out_and_its_cell_runs_again(
    file: Path, old: str, new: str
) -> None:
    first, *rows = file.read_text().splitlines(keepends=True)
    assert old in rows[1]
    file.write_text("".join([first, rows[0], rows[1].replace(old, new, 1)]))
    table = load(file)
    assert (sorted(table.rows), table.damaged) == ([0], 1)
    assert len(lines(table)) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"cells":3', '"cells":1000000000'),
        ('"name":"loss"', r'"name":"\u001b]52;c;eA==\u0007"'),
        ('"settings":{}', '"settings":' + "[" * 5000),
    ],
)
def test_a_definition_that_no_sweep_wrote_is_one_printable_line(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(TutorError) as caught:
        load(file)
    assert is_printable(str(caught.value))
