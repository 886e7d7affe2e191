"""A course of one's own: packed by a teacher, opened by students with --course."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.course.outline import load
from tests.command import here as tcptutor
from tests.grading.evidence.student import KEY, LESSONS


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "small.tcpcourse"
    done = tcptutor("course", "pack", LESSONS, "-o", path)
    assert done.returncode == 0, done.stderr
    return path


def test_equal_lessons_give_equal_packs_and_a_change_another_digest(packed: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tcpcourse"
    first = json.loads(tcptutor("course", "pack", LESSONS, "-o", again, "--json").stdout)
    assert again.read_bytes() == packed.read_bytes()
    edited = Path(shutil.copytree(LESSONS, tmp_path / "edited"))
    course = edited / "course.toml"
    course.write_text(f'id = "mine"\nversion = "2"\n{course.read_text()}')
    other = json.loads(tcptutor("course", "pack", edited, "-o", tmp_path / "x.tcpcourse", "--json").stdout)
    assert (first["id"], other["id"], other["version"]) == ("a-course-that-grades", "mine", "2")
    assert first["sha256"] != other["sha256"]


def test_a_pack_holds_traces_and_no_hidden_files(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LESSONS, tmp_path / "traced"))
    experiments = folder / "01-small" / "experiments"
    (experiments / "cell.toml").write_text('title = "A cell"\n[parameters]\nrate_trace = "cell.csv"\n')
    (folder / ".github").mkdir()
    (folder / ".github" / "Pull request.md").write_text("Not a lesson.")
    (experiments / "cell.csv").write_text("seconds,Mbit/s\n0,5\n1,2\n")
    packed = tmp_path / "traced.tcpcourse"
    assert tcptutor("course", "pack", folder, "-o", packed).returncode == 0
    here, there = (tcptutor("list", "cell", "--course", each) for each in (folder, packed))
    assert (there.returncode, there.stdout) == (0, here.stdout)


def test_commands_that_a_message_names_use_the_same_course(
    packed: Path, without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nothing = tcptutor("submit", "--course", packed)
    assert f"`tcptutor --course {packed}` opens it" in nothing.stderr, "no note of the course yet"
    enrolled = tcptutor("enrol", KEY.code, "ada", "--course", packed)
    assert "`tcptutor submit --course a-course-that-grades` writes" in enrolled.stdout
    for without in (["submit"], ["certificate", "small"], ["notebook", "-o", "x.md"]):
        assert "for another course add --course a-course-that-grades" in tcptutor(*without).stderr
    decided = ["decide", "ada", "small/one", "--hours", "1", "--reason", "Ill", "--by", "AB"]
    assert "add --course" in tcptutor(*decided).stderr
    page = load(LESSONS).modules[0].step_ids[0]
    decided[2] = f"small/{page}"
    assert (
        "--exceptions exceptions.toml --course a-course-that-grades`"
        in tcptutor(*decided, "--course", packed).stdout
    )


def test_a_student_works_in_the_packed_course_beside_the_shipped_one(
    packed: Path, without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tcptutor("list", "--course", packed)
    assert "1  small: Small, 5 pages" in listed.stdout
    assert tcptutor("--course", packed, "list").stdout == listed.stdout
    monkeypatch.setenv("TCPTUTOR_COURSE", str(packed))
    assert tcptutor("list").stdout == listed.stdout
    assert tcptutor("enrol", KEY.code, "ada").returncode == 0
    file = tmp_path / "ada.tcphandin"
    assert tcptutor("submit", "-o", file).returncode == 0
    monkeypatch.delenv("TCPTUTOR_COURSE")
    (found,) = json.loads(tcptutor("grade", file, "--course", packed, "--json").stdout)["hand_ins"]
    assert (found["student"], found["of"]) == ("ada", 19)
    # The journal of the shipped course knows nothing of it.
    assert tcptutor("submit", "-o", tmp_path / "other.tcphandin").returncode == 2
    assert places.lessons() == places.shipped_lessons()


def test_the_shipped_course_in_a_folder_keeps_its_journal(
    without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load().id == places.SHIPPED_ID
    assert tcptutor("enrol", KEY.code, "ada", "--course", places.lessons()).returncode == 0
    assert "already enrolled" in tcptutor("enrol", KEY.code, "ada").stdout


def _outside(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        described = json.loads(archive.read("course-pack.json"))
    described["files"] = {"../../evil.md": hashlib.sha256(b"x").hexdigest()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("course-pack.json", json.dumps(described))
        archive.writestr("../../evil.md", "x")


def _huge(path: Path) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("01-small/99-more.md", " " * (8 << 20))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:3000])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4000] ^= 1
    path.write_bytes(content)


def _exchange(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in found.items():
            archive.writestr(name, content.replace(b"RTT", b"MSS"))


@pytest.mark.parametrize("damage", [_outside, _huge, _cut, _flip, _exchange])
def test_a_damaged_or_hostile_pack_is_refused_in_a_line(
    packed: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(packed)
    done = tcptutor("list", "--course", packed)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "damaged" in done.stderr
    assert not list(tmp_path.rglob("evil*"))


def test_what_is_no_course_is_told_in_a_line(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("no course")
    for given in (tmp_path, note, tmp_path / "none", tmp_path / "none.tcpcourse"):
        done = tcptutor("list", "--course", given)
        assert (done.returncode > 0, done.stdout, done.stderr.count("\n")) == (True, "", 1)
    broken = Path(shutil.copytree(LESSONS, tmp_path / "broken"))
    (broken / "course.toml").write_text('title = "No modules"\n')
    assert "course.toml" in tcptutor("list", "--course", broken).stderr
    assert tcptutor("course", "pack", broken, "-o", tmp_path / "x.tcpcourse").returncode > 0
