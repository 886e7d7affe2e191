"""Courses from zip and tar archives and from git repositories, several of them next to each other."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.course.checkout import RepositoryAddress, parse_address
from tests.command import here as tcptutor
from tests.grading.evidence.student import KEY, LESSONS

LISTED = "1  small: Small, 5 pages"


@pytest.fixture(autouse=True)
def _own_folders(without_state: Path) -> None:
    """A data folder without courses."""


def _git(folder: Path, *words: str) -> str:
    identity = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", "-C", folder, *words],
        env={**os.environ, **identity, "GIT_CONFIG_GLOBAL": "/dev/null"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(LESSONS, tmp_path / "teaching"))
    (folder / "course.toml").write_text(f'version = "1"\nid = "ours"\n{(folder / "course.toml").read_text()}')
    _git(folder, "init", "-q", "-b", "main")
    _commit(folder)
    return folder


def _commit(folder: Path) -> str:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "A version")
    return _git(folder, "rev-parse", "HEAD")


def _corrected(folder: Path) -> str:
    course = folder / "course.toml"
    course.write_text(course.read_text().replace('version = "1"', 'version = "2"'))
    return _commit(folder)


def _zipped(path: Path, top: str = "", **more: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(LESSONS.rglob("*.*")):
            archive.write(file, f"{top}{file.relative_to(LESSONS)}")
        for name, text in more.items():
            archive.writestr(f"{top}{name}", text)
    return path


@pytest.mark.parametrize("top", ["", "small-main/", "repository-main/lessons/"])
def test_an_ordinary_zip_of_a_course_folder_opens(tmp_path: Path, top: str) -> None:
    zipped = _zipped(
        tmp_path / "small.zip", top, **{"README.pdf": "x" * 9000, ".github/x.md": "not a lesson"}
    )
    done = tcptutor("list", "--course", zipped)
    assert (LISTED in done.stdout, done.stderr) == (True, "")
    zipped.rename(tmp_path / "small.tcpcourse.zip")
    assert LISTED in tcptutor("list", "--course", tmp_path / "small.tcpcourse.zip").stdout


def test_a_tar_archive_opens(tmp_path: Path) -> None:
    path = tmp_path / "small.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(LESSONS, "small-1.0")
    assert LISTED in tcptutor("list", "--course", path).stdout


def _member(path: Path, name: str, content: bytes = b"x", mode: int = stat.S_IFREG) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo(name)
        member.external_attr, member.create_system = (mode | 0o644) << 16, 3
        member.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(member, content)


TRICKS: dict[str, Callable[[Path], None]] = {
    "above": lambda path: _member(path, "../evil.md"),
    "within": lambda path: _member(path, "01-small/../../evil.md"),
    "absolute": lambda path: _member(path, "/tmp/evil.md"),
    "windows": lambda path: _member(path, "C:\\evil.md"),
    "link": lambda path: _member(path, "01-small/evil.md", b"/etc/passwd", stat.S_IFLNK),
    "linked folder": lambda path: _member(path, "02-evil", b"/etc", stat.S_IFLNK),
    "bomb": lambda path: _member(path, "01-small/99-evil.md", bytes(80 << 20)),
    "two courses": lambda path: (_member(path, "a/course.toml"), _member(path, "b/course.toml"))[0],
    "cut": lambda path: path.write_bytes(path.read_bytes()[:900]) and None,
}


@pytest.mark.parametrize("trick", TRICKS)
def test_an_archive_with_tricks_is_refused_in_a_line(tmp_path: Path, trick: str) -> None:
    zipped = tmp_path / "small.zip"
    if trick != "two courses":
        _zipped(zipped)
    TRICKS[trick](zipped)
    done = tcptutor("list", "--course", zipped)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert str(zipped) in done.stderr
    assert not [*tmp_path.rglob("*evil*"), *places.cache().rglob("*evil*")]


def test_a_tar_archive_with_tricks_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "small.tar.gz"
    for name, link in (("../evil.md", ""), ("01-small/evil.md", "/etc/passwd")):
        with tarfile.open(path, "w:gz") as archive:
            archive.add(LESSONS, ".")
            entry = tarfile.TarInfo(name)
            if link:
                entry.type, entry.linkname = tarfile.SYMTYPE, link
            archive.addfile(entry, io.BytesIO())
        done = tcptutor("list", "--course", path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_an_archive_without_a_course_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    _member(path, "notes.txt")
    done = tcptutor("list", "--course", path)
    assert (done.returncode, done.stderr.count("\n"), "course.toml" in done.stderr) == (1, 1, True)


def test_a_repository_stays_as_it_was_until_an_update(repository: Path) -> None:
    url = f"file://{repository}"
    assert LISTED in tcptutor("list", "--course", url).stdout
    first = _git(repository, "rev-parse", "HEAD")
    second = _corrected(repository)
    assert tcptutor("enrol", KEY.code, "ada", "--course", url).returncode == 0
    (known,) = _known()
    assert (known["id"], known["version"], known["given"]) == ("ours", "1", url)
    updated = tcptutor("course", "update", "ours").stdout
    assert first[:10] in updated and second[:10] in updated
    assert _known()[0]["version"] == "2"
    assert "newest already" in tcptutor("course", "update", "ours").stdout


def test_a_repository_is_not_needed_again(repository: Path) -> None:
    url = f"file://{repository}"
    assert tcptutor("enrol", KEY.code, "ada", "--course", url).returncode == 0
    shutil.rmtree(repository)
    assert LISTED in tcptutor("list", "--course", "ours").stdout
    failed = tcptutor("course", "update", "ours")
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
    assert LISTED in tcptutor("list", "--course", "ours").stdout


def test_a_revision_of_a_repository(repository: Path) -> None:
    first = _git(repository, "rev-parse", "HEAD")
    _git(repository, "tag", "autumn")
    _git(repository, "branch", "teaching/winter")
    _corrected(repository)
    for given in (
        f"file://{repository}@autumn",
        f"file://{repository}@{first}",
        f"git+file://{repository}@{first[:9]}",
        f"{repository}@teaching/winter",
    ):
        assert tcptutor("enrol", KEY.code, "ada", "--course", given).returncode == 0, given
        assert _known()[0]["version"] == "1"


@pytest.mark.parametrize(
    "given", ["none", "{tmp}/none.git", "file://{tmp}/none.git", "file://{repository}@none"]
)
def test_what_is_no_repository_is_refused_in_a_line(repository: Path, tmp_path: Path, given: str) -> None:
    given = given.format(tmp=tmp_path, repository=repository)
    done = tcptutor("list", "--course", given)
    assert (done.returncode > 0, done.stdout) == (True, "")
    assert len([line for line in done.stderr.splitlines() if not line.startswith("fetching")]) == 1


def test_a_repository_without_a_course_is_refused_in_a_line(repository: Path) -> None:
    _git(repository, "rm", "-q", "course.toml")
    _commit(repository)
    done = tcptutor("course", "update", f"file://{repository}")
    assert (done.returncode, done.stderr.count("\n"), "course.toml" in done.stderr) == (1, 1, True)


def test_git_that_is_missing_is_named_with_the_remedy(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = tcptutor("course", "update", f"file://{repository}")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "install" in done.stderr


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("https://example.edu/a/b.git", RepositoryAddress("https://example.edu/a/b.git")),
        ("https://me:key@example.edu/a/b", RepositoryAddress("https://me:key@example.edu/a/b")),
        ("https://example.edu/a/b@v1", RepositoryAddress("https://example.edu/a/b", "v1")),
        ("git+https://example.edu/a/b.git@x/y", RepositoryAddress("https://example.edu/a/b.git", "x/y")),
        ("git@example.edu:a/b.git", RepositoryAddress("git@example.edu:a/b.git")),
        ("git@example.edu:a/b.git@v1", RepositoryAddress("git@example.edu:a/b.git", "v1")),
        ("ext::sh -c x", None),
        ("/nowhere/x", None),
    ],
)
def test_addresses_of_repositories(given: str, found: RepositoryAddress | None) -> None:
    assert parse_address(given) == found


def test_a_password_in_an_address_is_not_shown(tmp_path: Path) -> None:
    assert "key" not in str(parse_address("https://me:key@example.edu/a/b.git@v1"))


def _known() -> list[dict[str, object]]:
    listed = json.loads(tcptutor("course", "list", "--json").stdout)["courses"]
    assert listed[0]["id"] == places.SHIPPED_ID
    return list(listed[1:])


def test_courses_next_to_each_other_have_their_own_journals(tmp_path: Path, repository: Path) -> None:
    zipped = _zipped(tmp_path / "small.zip")
    assert _known() == []
    for given in (zipped, repository):
        assert tcptutor("enrol", KEY.code, "ada", "--course", given).returncode == 0
    assert {each["id"] for each in _known()} == {"a-course-that-grades", "ours"}
    assert LISTED in tcptutor("list", "--course", "ours").stdout
    assert tcptutor("list", "--course", places.SHIPPED_ID).stdout == tcptutor("list").stdout
    zipped.unlink()
    lost = next(each for each in _known() if each["id"] == "a-course-that-grades")
    assert "small.zip" in str(lost["problem"])
    printed = tcptutor("course", "list")
    assert (printed.returncode, printed.stderr.count("\n")) == (0, 1)
    assert tcptutor("list", "--course", "our").returncode == 2
