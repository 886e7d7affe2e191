"""claims.md has every claim of the course, and each of them holds."""

from __future__ import annotations

from tests.documentation.claims import PAGE, claims, one_line, told


def test_the_table_has_every_claim_of_the_course_and_all_hold() -> None:
    again = "run tcptutor lint --run, then python -m tests.documentation claims"
    rows = list(told(PAGE.read_text(encoding="utf-8")))
    assert [row[:2] for row in rows] == [(each.page, one_line(each.text)) for each in claims()], again
    assert [row for row in rows if row[2] != "holds"] == []
