"""The key of a course, its code, and what follows from both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.course import personal
from tcptutor.grading.evidence.keys import (
    CourseKey,
    new_key,
    parse_course_code,
    parse_student_name,
    read_key,
    write_key,
)

KEY = CourseKey(secret="00" * 32)


def test_a_key_is_read_as_it_was_written_and_is_its_owners_alone(tmp_path: Path) -> None:
    path, key = tmp_path / "course.key", new_key()
    write_key(key, path)
    assert read_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_two_keys_are_one() -> None:
    assert len({new_key().code for _ in range(100)}) == 100


def test_the_code_is_the_same_for_ever() -> None:
    assert KEY.code == CourseKey(secret="00" * 32).code
    assert parse_course_code(KEY.code) == KEY.code
    assert parse_course_code(f" {KEY.code.lower().replace('-', ' ')} ") == KEY.code


@pytest.mark.parametrize("text", ["", "ABCD", "ABCD-EFGH-2345-WXQ1", "x" * 10_000, "\x1b[31m"])
def test_what_is_no_code_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="is not a course code: it looks like ABCD-EFGH-2345-WXQG"):
        parse_course_code(text)


def test_a_slip_in_a_code_is_told() -> None:
    plain = KEY.code.replace("-", "")
    slips = [plain[:at] + other + plain[at + 1 :] for at in range(16) for other in "A7" if plain[at] != other]
    slips += [plain[:at] + plain[at + 1] + plain[at] + plain[at + 2 :] for at in range(15)]
    for slip in set(slips) - {plain}:
        with pytest.raises(UsageError, match="check it for typing errors"):
            parse_course_code(slip)


@pytest.mark.parametrize("text", ["", "  ", "x" * 101, "a\x1b[0m", "\u202eadA"])
def test_what_is_no_student_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="is not a student name"):
        parse_student_name(text)


def test_a_student_is_named_as_the_course_does() -> None:
    assert parse_student_name("  Ada   Lovelace ") == "Ada Lovelace"
    assert parse_student_name("日本 42") == "日本 42"


@pytest.mark.parametrize(
    "text", ["", "{}", '{"secret": "xy", "format_version": 1}', '{"secret": "00", "format_version": 1}']
)
def test_what_is_no_key_is_told(text: str, tmp_path: Path) -> None:
    path = tmp_path / "course.key"
    path.write_text(text)
    with pytest.raises(TutorError, match="is not a course key, or damaged"):
        read_key(path)


def test_lots_are_even_and_of_the_key() -> None:
    lots = [KEY.lot(str(number)) for number in range(2000)]
    assert sum(lot < 0.05 for lot in lots) == pytest.approx(100, abs=40)
    assert lots != [new_key().lot(str(number)) for number in range(2000)]


def test_students_are_given_other_numbers_and_seeds() -> None:
    identities = {personal.identity(KEY.code, str(number)) for number in range(1000)}
    assert len(identities) == 1000
    assert len({personal.run_seed(each, "m", "s") for each in identities}) == 1000
    one = next(iter(identities))
    assert personal.run_seed(one, "m", "s") != personal.run_seed(one, "m", "t")
    assert personal.question_seed(one, "m", "s", "q", 0) != personal.question_seed(one, "m", "s", "q", 1)
