"""The reference of lesson files is that of today's types."""

from __future__ import annotations

from tests.documentation.lesson_files import PAGE, page


def test_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.documentation lessons`"
