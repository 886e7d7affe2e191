"""Students, their folders and their logins."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tcptutor.base.errors import ContentError
from tcptutor.serve.logins import LIFETIME_S, Logins
from tcptutor.serve.students import numbered, owner, read_students


def students_of(tmp_path: Path, text: bytes | str, name: str = "class.txt") -> list[str]:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [each.name for each in read_students(file)]


def test_a_list_names_a_student_on_each_line(tmp_path: Path) -> None:
    assert students_of(tmp_path, "# group 1\nAda Byron\r\n\n  Zoë O'Brien\n") == ["Ada Byron", "Zoë O'Brien"]


def test_a_roster_names_them_by_their_ids(tmp_path: Path) -> None:
    text = "Student,SIS Login ID,Section\nByron Ada,ada@example.edu,1\nBob,bob@example.edu,2\n"
    assert students_of(tmp_path, text, "roster.csv") == ["ada@example.edu", "bob@example.edu"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no students"),
        ("ada\nAda\n", "line 2 repeats 'Ada' of line 1"),
        ("ada\nbob\x1b[2J\n", "line 2"),
        ("x" * 81, "more than 80"),
        (b"\xff\xfe\n", "UTF-8"),
        ("\n".join(map(str, range(2001))), "2000 at most"),
        (b"a" * (2 << 20), "cannot read"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_in_a_line(
    text: bytes | str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ContentError, match=words) as refused:
        students_of(tmp_path, text)
    assert "\n" not in str(refused.value)


def test_every_student_has_a_folder_of_their_own(tmp_path: Path) -> None:
    hard = ["../../etc", "..", "/", "a/b", "a-b", "a b", "ß", "ẞ2", "con", "-rf", "x" * 80, "Ада", "日本"]
    (tmp_path / "class.txt").write_text("\n".join(hard))
    folders = {each.folder for each in read_students(tmp_path / "class.txt")}
    assert len(folders) == len(hard)
    assert len({each.parent for each in folders}) == 1
    assert all(
        each.name.isascii() and len(each.name) < 40 and not each.name.startswith(".") for each in folders
    )
    first, second = numbered(2)
    assert first.folder != second.folder


def test_an_environment_has_no_secret_of_the_server() -> None:
    server = {
        "PATH": "/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TCPTUTOR_ARCHITECTURE": "x86_64", "USER": "prof",
        **dict.fromkeys(("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "LD_PRELOAD", "PYTHONPATH"), "!"),
        **dict.fromkeys(("PYTHONSTARTUP", "TEXTUAL", "TEXTUAL_DRIVER", "XDG_RUNTIME_DIR", "EDITOR"), "!"),
    }  # fmt: skip
    student = numbered(1)[0]
    given = student.environment(server)
    assert "!" not in given.values()
    assert {given[name] for name in ("PATH", "LC_ALL", "TCPTUTOR_ARCHITECTURE")} == {
        "/bin",
        "C.UTF-8",
        "x86_64",
    }
    own = ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    assert all(Path(given[name]).is_relative_to(student.folder) for name in own)
    assert "USER" not in given
    mine = owner().environment(server)
    assert mine["HOME"] == "/root"
    assert {name for name, value in mine.items() if value == "!"} == {"XDG_RUNTIME_DIR"}


class Clock:
    now = 1e9

    def __call__(self) -> float:
        return self.now


def test_a_link_works_once_and_not_for_ever(tmp_path: Path) -> None:
    clock = Clock()
    logins = Logins(tmp_path / "serve" / "logins.json", clock)
    token = logins.make_link("ada")
    assert logins.redeem("guess") is None
    student, cookie = logins.redeem(token) or ("", "")
    assert student == "ada"
    assert logins.redeem(token) is None
    assert logins.redeem(cookie) is None
    assert logins.student_of(cookie) == "ada"
    assert logins.student_of(token) is None
    late = logins.make_link("bob")
    clock.now += LIFETIME_S
    assert logins.redeem(late) is None
    assert logins.student_of(cookie) is None
    assert not logins.has_access("ada")


def test_a_new_link_ends_the_old_one_and_logging_out_the_login(tmp_path: Path) -> None:
    logins = Logins(tmp_path / "logins.json")
    first, second = logins.make_link("ada"), logins.make_link("ada")
    assert logins.redeem(first) is None
    _, cookie = logins.redeem(second) or ("", "")
    logins.log_out(cookie)
    assert logins.student_of(cookie) is None


def test_the_file_has_no_secret_and_is_the_owner_s(tmp_path: Path) -> None:
    """Another process adds a link while a server runs, and a new server knows the logins."""
    file = tmp_path / "serve" / "logins.json"
    logins, other = Logins(file), Logins(file)
    token = other.make_link("ada")
    _, cookie = logins.redeem(token) or ("", "")
    assert Logins(file).student_of(cookie) == other.student_of(cookie) == "ada"
    text = file.read_text()
    assert token not in text
    assert cookie not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_student_has_few_logins(tmp_path: Path) -> None:
    logins = Logins(tmp_path / "logins.json")
    cookies = [(logins.redeem(logins.make_link("ada")) or ("", ""))[1] for _ in range(12)]
    assert [logins.student_of(each) is not None for each in cookies] == [False, False, *[True] * 10]
