"""The table of models beside the measurement: what it says, and that it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor import analysis
from tcptutor.analysis import Report
from tcptutor.run import load
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import comparison, result
from tcptutor.ui.widgets.bench.comparison import OwnPrediction

RUNS = Path(__file__).parent.parent / "analysis" / "runs"
WIDTHS = (53, 64, 76, 116)


def report(name: str) -> Report:
    return analysis.report(load(RUNS / f"{name}.tcprun"))


def rows(name: str, width: int = 76) -> list[str]:
    return comparison.table(report(name), None, width).plain.split("\n")


@pytest.mark.parametrize("file", sorted(RUNS.iterdir()), ids=lambda file: file.stem)
def test_no_line_is_wider_than_its_place(file: Path) -> None:
    told, own = report(file.stem), OwnPrediction("1 Mbit/s", 1e6)
    for write, width in [(comparison.table, width) for width in WIDTHS] + [(comparison.line, 78)]:
        assert max(map(len, write(told, own, width).plain.split("\n"))) <= width


def test_each_model_has_prediction_difference_and_tolerance() -> None:
    head, first, *_, last = rows("four-lossy-streams")
    assert head.endswith("predicted  measured 36.7 Mbit/s is")
    assert first == "4 × Reno                37.2 Mbit/s   1 % below  ✓ within ±15 %"
    assert last == "link                    95.6 Mbit/s  62 % below  not the limit"


def test_the_binding_model_s_reason_stands_under_it_and_is_said_once() -> None:
    lines = rows("timeouts")
    why = "waiting for timeouts took 77 % of the time, which this model leaves out"
    # At 40 % loss its model is too unsure to be right or wrong, and one run has hardly a loss that is no timeout.
    assert lines[1].endswith("±100 %")
    assert lines[2].startswith("  too few losses")
    assert sum("too few losses" in line for line in lines) == 1
    assert not any(why in line for line in lines)
    # Where the note is that reason, it does not stand again below.
    run = load(RUNS / "slow-start.tcprun")
    whole = analysis.report(run)
    shown = result.why(Live("", "", run, report=whole, state="ended"), 100).plain
    assert whole.compared[0].reason
    assert whole.compared[0].reason not in shown


def test_models_that_differ_for_the_same_reason_have_it_once() -> None:
    lines = rows("bbr-loss")
    why = "  bbr does not take a loss for congestion: this is what Reno would get"
    assert lines.count(why) == 1
    before = lines[: lines.index(why)]
    assert [line.split("  ")[0] for line in before[-4:]] == [
        "Padhye", "Reno", "Mathis, periodic", "Mathis",
    ]  # fmt: skip


def test_words_give_way_before_names_do() -> None:
    wide, narrow = rows("four-lossy-streams", 64), rows("four-lossy-streams", 53)
    assert "4 × Mathis, manual C=1  29.2 Mbit/s  25 % above  ✗ beyond ±17 %" in wide
    assert "4 × Mathis, manual…  29.2 Mbit/s  25 % above  ✗ ±17 %" in narrow
    assert narrow[-1].endswith("62 % below  –")


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    for width in range(30, 70):
        run = load(RUNS / "timeouts.tcprun")
        text = result.why(Live("", "", run, report=analysis.report(run), state="ended"), width).plain
        assert not any(line.startswith(("% ", "Mbit/s", "s ")) for line in text.split("\n"))


def test_a_small_terminal_has_the_binding_model_and_its_reason() -> None:
    text = comparison.line(report("timeouts"), OwnPrediction("1 Mbit/s", 1e6), 78).plain.split("\n")
    assert text[0].startswith("measured 91.3 kbit/s   Reno 78 kbit/s (+17 %, ±100 %)")
    assert text[0].endswith("you 1 Mbit/s (−91 %)")
    assert text[1].startswith("  too few losses")


def test_where_lines_are_few_the_last_models_are_only_counted() -> None:
    told, own = report("bbr-loss"), OwnPrediction("1 Mbit/s", 1e6)
    whole = comparison.table(told, own, 76).plain.split("\n")
    for room in range(1, len(whole) + 2):
        lines = comparison.table(told, own, 76, room).plain.split("\n")
        # The model that binds and the student's own stay, whatever there is room for.
        assert len(lines) <= max(room, 4)
        assert lines[:2] == whole[:2]
        assert any(line.startswith("you ") for line in lines)
        counted = len(told.compared) - sum("Mbit/s" in line for line in lines[1:]) + 1
        assert (lines[-1] == f"and {counted} more in a taller window") == (lines != whole)
    assert lines == whole
