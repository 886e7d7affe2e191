"""What was measured beside the models and the student: the ruler, the table, each flow, and that they fit."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from tcptutor import analysis
from tcptutor.analysis import Report
from tcptutor.run import load
from tcptutor.ui.widgets.chart import axes, chart, strips
from tcptutor.ui.widgets.chart.scene import OwnPrediction
from tcptutor.ui.widgets.panel import result, ruler, tables

from .lives import EIGHT, ONE, STORED, WINDOW, ended, going, live_of, scene, screen, stored

WIDTHS = (53, 64, 78, 116)
OWN = OwnPrediction("1 Mbit/s", 1e6)


def report(name: str) -> Report:
    return analysis.report(stored(name))


def drawn(name: str, width: int = 78, room: int = 9, own: OwnPrediction | None = OWN) -> list[str]:
    return [line.text for line in ruler.ruler(report(name), own, (), width, room)]


def table(name: str, width: int = 78, room: int = 40, formula: str = "") -> list[str]:
    run = stored(name)
    return [line.text for line in tables.model_table(report(name), run.experiment, OWN, width, room, formula)]


@pytest.mark.parametrize("file", sorted(STORED.iterdir()), ids=lambda file: file.stem)
def test_no_line_is_wider_than_its_place(file: Path) -> None:
    live = live_of(load(file))
    for width in WIDTHS:
        for view in ("chart", "models", "flows"):
            assert max(map(len, screen(live, width, 30, view, OWN))) <= width  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [ONE, EIGHT, WINDOW, "timeouts", "bbr-loss", "full-link"])
def test_the_measurement_crosses_the_bands_of_the_models_that_explain_it(name: str) -> None:
    told = report(name)
    for line in ruler.ruler(told, OWN, (), 78, 9)[: len(told.comparisons)]:
        row = line.text
        inside = "├" in row[: row.find("╂")] or any(sign in row for sign in "╋┠┨")
        if row.endswith(ruler.WITHIN):
            assert inside, row
        if row.endswith(ruler.BEYOND):
            assert "┃" in row or "╂" not in row


def test_it_grows_from_three_lines_to_all_models() -> None:
    told = report(ONE)
    for room in range(3, 12):
        lines = drawn(ONE, room=room)
        assert len(lines) == min(room, len(told.comparisons) + 2)
        assert lines[0].startswith("Reno ")
        assert any(line.startswith("you ") for line in lines)
        assert "measured 8.99 Mbit/s" in lines[-1]


def test_it_is_logarithmic_where_it_must() -> None:
    assert "log" in drawn(ONE, room=3)[-1], "1 beside 9"
    assert "log" not in drawn(ONE, room=3, own=OwnPrediction("12", 12e6))[-1]
    far = drawn("timeouts", own=OwnPrediction("1 Gbit/s", 1e9))
    assert max(map(len, far)) <= 78


def test_the_sign_stands_under_the_heavy_line() -> None:
    for width in range(45, 120, 5):
        for name in (ONE, EIGHT, "timeouts", "bbr-loss"):
            first, *_, last = drawn(name, width=width, own=OwnPrediction("", 99e6))
            assert first[last.index("▲")] in "┃╂╋┠┨"


def test_you_are_told_how_far_off() -> None:
    for bps, said in ((12e6, "12, 33 % too high"), (9e6, "9, right"), (99e6, "99, 11 × too high")):
        assert any(line.endswith(said) for line in drawn(ONE, own=OwnPrediction("", bps))), said


def test_the_table_leads_with_the_page_s_formula_and_says_what_was_capped() -> None:
    lines = table(EIGHT, formula="mathis-periodic")
    assert lines[1].startswith("8 × Mathis  ")
    assert lines[1].endswith("47.8 Mbit/s  capped by the link")
    assert lines[2] == "  8 × 8.96 = 71.6 Mbit/s, the link carries 47.8"
    assert table(ONE, formula="mathis-periodic")[2] == "  1448 B × 1.22 / (50 ms × √0.1 %)"
    assert table(ONE)[1].startswith("Reno ")


def test_a_capped_formula_and_the_link_are_two_rows_and_only_the_link_has_a_tick() -> None:
    told = report(EIGHT)
    room = ruler.lines_needed(told, "mathis-periodic")
    for width in WIDTHS:
        lines = [line.text for line in ruler.ruler(told, OWN, (), width, room, "mathis-periodic")]
        assert lines[0].startswith("8 × Mathis ")
        assert lines[0].endswith("8 × 8.96 = 71.6, capped by the link")
        assert lines[1].startswith("link ")
        assert " ".join(lines[1].split()).endswith("47.8 ±2 % ✓")
    ticks = [line for line in drawn(EIGHT, room=12) if line.endswith(ruler.WITHIN)]
    assert [tick[:5] for tick in ticks] == ["link "]
    assert drawn(EIGHT, room=3)[0].startswith("link "), "alone it is what binds"
    assert ruler.lines_needed(report(ONE), "mathis-periodic") == ruler.MIN_LINES, (
        "it is no more than what binds"
    )


def test_the_table_judges_you_as_the_ruler_does() -> None:
    run, own = stored(ONE), OwnPrediction("12,0 Mbit/s", 12e6)
    line = tables.model_table(report(ONE), run.experiment, own, 78, 40)[-1].text
    assert line.split() == ["you", "12", "Mbit/s", "33", "%", "too", "high"]


def test_a_model_of_another_algorithm_is_named_so() -> None:
    assert sum(line.endswith(" for Reno") for line in table("bbr-loss")) == 5
    assert not any(line.startswith("Reno") and "✓" in line for line in drawn("bbr-loss"))


def test_each_model_has_prediction_difference_and_tolerance() -> None:
    lines = table("four-lossy-streams")
    assert "36.7 Mbit/s" in lines[0]
    assert lines[1].endswith("37.2 Mbit/s    1 % below  ✓ ±15 %")
    assert any(line.startswith("link") and line.endswith("not the limit") for line in lines)
    assert lines[-1].startswith("you ")


def test_models_that_differ_for_the_same_reason_have_it_once() -> None:
    text = "\n".join(table("bbr-loss"))
    assert text.count("bbr does not take a loss for congestion") == 1


def test_where_lines_are_few_formulas_give_way_and_models_stay() -> None:
    whole = table("bbr-loss")
    for room in range(9, len(whole) + 1):
        lines = table("bbr-loss", room=room)
        assert len(lines) <= room
        for each in report("bbr-loss").comparisons:
            assert any(line.startswith(each.prediction.label) for line in lines)


def test_each_flow_has_its_figures_and_all_together_their_fairness() -> None:
    live = ended(EIGHT)
    lines = screen(live, view="flows")
    assert lines[0].split() == ["flow", "cwnd", "Mbit/s", "share", "again", "losses", "RTT", "ms", "CoV"]
    assert live.report is not None
    for flow, line in zip(live.report.flows, lines[1:9], strict=True):
        words = line.split()
        assert words[0] == f"{flow.flow + 1}"
        assert words[-7:-5] == [f"{flow.throughput_bps / 1e6:.3g}", f"{100 * flow.share:.0f}"]
        assert words[-4:-2] == [f"{flow.retransmits}", f"{flow.losses}"]
        assert words[-1] == f"{flow.cov:.2f}"
    told = live.report
    assert (
        f"Jain's index {told.jain_index:.3f} · CoV between flows {told.cov_between:.2f}"
        f" · {told.retransmits} retransmitted · {told.loss_events} losses"
    ) in lines
    running = screen(going(EIGHT, 8.0), view="flows")
    assert len(running) == 9
    assert "share" not in running[0], "nothing of a mean before there is one"


def test_a_note_that_is_said_elsewhere_is_not_said_again() -> None:
    live = ended("slow-start")
    text = "\n".join(line.text for line in result.explanation(live, 200))
    assert live.report is not None
    assert text.count(live.report.note) == (1 if live.report.note else text.count(""))


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    live = ended("timeouts")
    for width in range(30, 70):
        assert not any(
            line.text.startswith(("% ", "Mbit/s", "s ")) for line in result.explanation(live, width)
        )


def test_a_run_that_failed_says_so_first() -> None:
    run = msgspec.structs.replace(stored(ONE), complete=False, note="stopped by you", experiment_s=20.0)
    live = live_of(run)
    for size in ((78, 22), (62, 12)):
        assert any("cut short at 20.0 of 45 s: stopped by you." in line for line in screen(live, *size))


def test_the_verdict_leads_with_the_measured_value_its_limit_and_the_prediction() -> None:
    own = OwnPrediction("12 Mbit/s", 12e6)
    assert screen(ended(ONE), own=own)[0].strip() == (
        "8.99 Mbit/s, limited by random loss; you said 12, 33 % too high"
    )
    assert screen(ended(ONE))[0].strip() == "8.99 Mbit/s, limited by random loss"
    narrow = screen(ended(ONE), 50, 22, own=own)
    assert [line.strip() for line in narrow[:2]] == [
        "8.99 Mbit/s, limited by random loss",
        "you said 12, 33 % too high",
    ]


def test_the_verdict_is_large_where_there_is_room() -> None:
    lines = screen(ended(ONE), 62, 33, own=OwnPrediction("9 Mbit/s", 9e6))
    (first,) = [row for row, line in enumerate(lines) if line.endswith(" Mbit/s") and "━" in line]
    assert lines[first + 1].endswith(" limited by random loss")
    assert lines[first + 2].endswith(" you said 9: right")
    assert lines[first + 3].startswith("why: ")


def test_the_verdict_says_nothing_that_is_withheld_or_not_measured() -> None:
    waiting = ended(ONE)
    waiting.awaits_observation = True
    assert screen(waiting)[0].strip() == "8.99 Mbit/s"
    hidden = ended(ONE)
    hidden.hides_fault = True
    unexplained = ended(ONE)
    assert unexplained.report is not None
    verdict_ = msgspec.structs.replace(unexplained.report.verdict, limited_by="unexplained")
    unexplained.report = msgspec.structs.replace(unexplained.report, verdict=verdict_)
    assert "limited by the" not in screen(unexplained)[0]
    for live in (hidden, going(ONE, 20.0)):
        assert not any("Mbit/s, limited" in line for line in screen(live))


def test_numbers_at_the_right_have_their_decimal_points_below_each_other() -> None:
    for width in WIDTHS:
        rows = drawn(ONE, width=width, own=OwnPrediction("", 12e6))[:-1]
        points = {found.end(1) for row in rows if (found := re.search(r"(\d+)(\.\d+)? *(±|, )[^±]*$", row))}
        assert len(points) == 1


def test_figures_right_of_the_chart_and_its_strips_share_a_column() -> None:
    shown = scene(ended(ONE), OWN)
    lines = [
        *chart.render(shown, 78, 12, False),
        *(strips.render(shown, each, 78)[0] for each in shown.series.values()),
    ]
    found = [re.fullmatch(r"[ ◂◃]*(\d+)(\.\d+)? +(\w+)", line.text[78 - axes.MARGIN :]) for line in lines]
    figures = [each for each in found if each]
    assert {each[3] for each in figures} >= {"measured", "expected", "mean"}
    assert len({each.end(1) for each in figures}) == 1, "decimal points"
    assert len({each.start(3) for each in figures}) == 1, "words"
