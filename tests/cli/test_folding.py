"""Marks and reasons on a terminal of 80 columns: no line is longer, no word and no id is broken."""

from __future__ import annotations

import pytest

from tcptutor.commands.folding import fold_line, fold_rows

_LONG = "the answer that was given names a choice that the page has no longer, so it costs no marks: a-long-id-of-it"
_ROWS = [
    ("✓", "tcp-basics/a-file-in-pieces which-ack", "1 of 1", ""),
    ("✗", "congestion-algorithms/what-the-sender-does-not-know which", "0 of 1", _LONG),
    ("○", "pacing/when-segments-leave", "0 of 4", "not done"),
]


def test_a_line_is_folded_between_words_with_further_lines_indented() -> None:
    first, *others = fold_line(f"  {_LONG}", 40)
    assert first.startswith("  the")
    assert all(line.startswith("    ") and len(line) <= 40 for line in others)
    assert " ".join([first, *others]).split() == _LONG.split()


@pytest.mark.parametrize("rows", [_ROWS, [(*row[:1], "a/b c", *row[2:]) for row in _ROWS]])
@pytest.mark.parametrize("columns", [80, 100])
def test_rows_keep_their_words_and_the_width(rows: list[tuple[str, ...]], columns: int) -> None:
    lines = fold_rows(rows, columns, indent=4)
    assert all(len(line) <= columns for line in lines)
    assert sorted(" ".join(lines).split()) == sorted(" ".join(map(" ".join, rows)).split())
    assert sum(line[4] in "✓✗○" for line in lines) == len(rows)


def test_nothing_is_folded_outside_a_terminal() -> None:
    assert fold_line(f"  {_LONG}", None) == [f"  {_LONG}"]
    assert len(fold_rows(_ROWS, None)) == len(_ROWS)
