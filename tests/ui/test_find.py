"""The palette: what is found, in which order, and what Enter does."""

from __future__ import annotations

from typing import Any

import pytest

from tcptutor.study.matching import Group, Hit, PaletteEntry, indexed, search
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.hit_list import HitList

from .screen import keys, press_at_once, text, until, until_text


def entry(
    group: Group,
    title: str,
    about: str = "",
    prose: str = "",
    is_offered: bool = False,
    names: tuple[str, ...] = (),
) -> PaletteEntry:
    return PaletteEntry(group, title, "kind", about, lambda: None, prose, is_offered, names)


ENTRIES = [
    entry("actions", "Run the same", "run this page again", is_offered=True),
    entry(
        "pages", "Slow start", "how a flow begins", "A flow begins slowly. *cwnd* doubles in each round trip."
    ),
    entry("pages", "Window and round-trip time"),
    entry("pages", "The receive window"),
    entry("terms", "window", "what may be in flight", names=("windows",)),
    entry("terms", "congestion window, cwnd", "the sender's own limit", names=("cwnd",)),
    entry("experiments", "A transfer of ten minutes", "small-window", names=("small-window",)),
    entry("settings", "Theme: light", is_offered=True),
]


def hits_of(query: str, entries: list[PaletteEntry] = ENTRIES) -> list[Hit]:
    return search(query, [indexed(each) for each in entries])


def found(query: str) -> list[str]:
    return [hit.entry.title for hit in hits_of(query)]


def test_the_thing_itself_comes_first_and_groups_stay_together() -> None:
    hits = hits_of("window")
    assert hits[0].entry.title == "window"
    groups = [hit.group for hit in hits]
    assert groups == sorted(groups, key=groups.index)
    assert found("window")[2:4] == ["Window and round-trip time", "The receive window"]


def test_words_match_at_their_beginnings_never_in_scattered_letters() -> None:
    assert found("wdw") == []
    assert found("indow") == []
    assert found("rec win") == ["The receive window"]


def test_a_page_is_found_by_its_number() -> None:
    pages = [
        PaletteEntry("pages", "A module", "module 1", "", lambda: None),
        *(PaletteEntry("pages", f"Page {n}", f"page 1.{n}", "", lambda: None, "1.2 s") for n in (1, 2, 21)),
    ]
    assert [hit.entry.kind for hit in hits_of("1.2", pages) if hit.group == "pages"] == ["page 1.2"]


def test_text_is_found_after_titles() -> None:
    assert found("cwnd") == ["congestion window, cwnd", "Slow start"]
    mention = hits_of("cwnd")[-1]
    assert (mention.group, mention.about) == ("text", "cwnd doubles in each round trip.")


def test_an_abbreviation_or_a_synonym_is_the_thing_itself() -> None:
    others = [entry("pages", "cwnd in a chart"), entry("terms", "windows of a house"), *ENTRIES]
    assert hits_of("cwnd", others)[0].entry.title == "congestion window, cwnd"
    assert hits_of("windows", others)[0].entry.title == "window"


def test_an_experiment_is_found_among_the_experiments_by_its_title_and_by_its_name() -> None:
    for query in ("ten minutes", "small-window", "small"):
        (hit,) = hits_of(query)
        assert (hit.group, hit.entry.title) == ("experiments", "A transfer of ten minutes")


def test_pages_come_before_commands_and_both_before_questions_that_begin_alike() -> None:
    several = [
        entry("questions", "Next to a flow, what happens?"),
        entry("actions", "Next page", is_offered=True),
        entry("pages", "A flow next to another", is_offered=True),
    ]
    order = ["A flow next to another", "Next page", "Next to a flow, what happens?"]
    assert [hit.entry.title for hit in hits_of("next", several)] == order
    assert [hit.entry.title for hit in hits_of("", several)] == order[:2]


def test_actions_and_settings_are_found_by_their_titles_alone() -> None:
    assert found("again") == []
    assert found("run") == ["Run the same"]


def test_before_anything_is_typed_there_is_what_can_be_done_now() -> None:
    assert found("") == ["Run the same", "Theme: light"]


async def test_each_hit_is_a_line_with_its_kind_at_the_right(make_app: Any) -> None:
    async with make_app().run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Press Enter to begin")
        await pilot.press("ctrl+p", *keys("lossy"))
        await until_text(pilot, "page 1.2")
        lines = [line.strip(" │▁▂▃▄▅▆▇█") for line in text(pilot.app).splitlines()]
        assert any(line.startswith("One lossy flow") and line.endswith("page 1.2") for line in lines)


@pytest.mark.parametrize("typed", ["many flows", "lossy flow"])
async def test_keys_that_come_at_once_find_and_go(make_app: Any, typed: str) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Press Enter to begin")
        await pilot.press("ctrl+p")
        press_at_once(app, *keys(typed), "enter")
        await until_text(pilot, "2 Many flows ▸" if typed == "many flows" else "▸ One lossy flow")
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)


async def test_arrows_pass_over_heads_and_go_round(make_app: Any) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Press Enter to begin")
        await pilot.press("ctrl+p")
        await until_text(pilot, "Theme: dark")
        await pilot.press("up")
        hits = app.screen.query_one(HitList)
        await until(pilot, lambda: hits.chosen > 1)
        await pilot.press("down")
        await until(pilot, lambda: hits.chosen == 0)
        await pilot.press("escape")
        await until(pilot, lambda: "Theme: dark" not in text(app))
