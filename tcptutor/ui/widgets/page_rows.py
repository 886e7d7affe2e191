"""Lines of the map: modules, remaining work, filters, a row per page, and facts about the chosen page."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tcptutor.base.key_names import key_name
from tcptutor.course import duration
from tcptutor.ui.page_map import FILTERS, MapPage, MapState, minutes_left

SIGNS: dict[MapState, tuple[str, str]] = {
    "done": ("✓", "$success"),
    "due": ("↻", "$warning"),
    "wrong": ("✗", "$error"),
    "read": ("○", "$warning"),
    "new": ("·", "$foreground"),
    "known": ("=", "$text-muted"),
    "skipped": ("»", "$text-muted"),
}
"""Sign and color of each state."""
_KIND, _MINUTES, _STATE = 9, 6, 7
"""Columns of kind, minutes and state."""
_BOOKMARK, _HERE, DEEPER = "★", "●", "↳"


def module_line(modules: Sequence[tuple[int, str, bool]], width: int) -> Content:
    """Return the modules as (number, title, whether it is shown); only numbers where titles do not fit."""

    def line(with_titles: bool) -> Content:
        chips = [
            Content.styled(f" {number} {title} ", "bold reverse $secondary")
            if is_shown
            else Content.styled(f" {number} {title} " if with_titles else f" {number} ", "$text-muted")
            for number, title, is_shown in modules
        ]
        return (
            Content.styled("‹", "$text-muted") + Content(" ").join(chips) + Content.styled("›", "$text-muted")
        )

    whole = line(True)
    return whole if whole.cell_length <= width else line(False)


def left_line(pages: Sequence[MapPage], width: int) -> Content:
    """Return how many pages of the path are done, and which are left."""
    of_path = [page for page in pages if page.number and page.is_on_path]
    left = [page for page in of_path if page.is_left]
    done = sum(page.state in ("done", "due") for page in of_path)
    line = Content.assemble((f"{done} of {len(of_path)}", "bold"), " pages of your path done")
    if not left:
        return line + Content.styled(" · nothing left", "$success")
    line += Content.assemble(" · ", (f"{duration.in_words(minutes_left(pages))} left", "bold"), ": page ")
    numbers = [str(page.number) for page in left]
    shown = len(numbers)
    while shown > 1 and line.cell_length + len(_listed(numbers, shown)) > width:
        shown -= 1
    return line + Content.styled(_listed(numbers, shown), "bold $accent")


def _listed(numbers: Sequence[str], shown: int) -> str:
    return ", ".join(numbers[:shown]) + (" …" if shown < len(numbers) else "")


def filter_line(pages: Sequence[MapPage], chosen: int, width: int) -> Content:
    """Return the filters, each after its key, with the number of pages in brackets if space permits."""
    counts = [sum(map(each.keeps, pages)) for each in FILTERS]
    lines = [
        Content(" " * gap).join(
            _chip(number, count, number == chosen, is_counted) for number, count in enumerate(counts)
        )
        for gap, is_counted in ((2, True), (1, True), (0, True), (0, False))
    ]
    return next((line for line in lines if line.cell_length <= width), lines[-1])


def _chip(number: int, count: int, is_chosen: bool, is_counted: bool) -> Content:
    has_count = number > 0 and count > 0 and (is_counted or is_chosen)
    chip = Content.assemble(
        (f" {number + 1}", "bold $accent"),
        f" {FILTERS[number].name}",
        (f" ({count})" if has_count else "", "$text-muted"),
        " ",
    )
    if is_chosen:
        return chip.stylize("bold on $panel")
    return chip if count else chip.stylize_before("$text-muted")


def page_row(page: MapPage, width: int, *, is_here: bool) -> Content:
    """Return sign, number, title, kind, minutes and state of a page; a page still to do is bold."""
    sign, hue = SIGNS[page.state]
    style = "bold" if page.is_left else "" if page.is_on_path else "$text-muted"
    room = width - len("●✓ 12  ") - _KIND - _MINUTES - _STATE - len("      ★ ")
    off_path = f"{DEEPER} " if page.step.path == "deeper" else ""
    title = Content(f"{off_path}{page.step.title}").truncate(room, ellipsis=True)
    return Content.assemble(
        (_HERE if is_here else " ", "bold $accent"),
        (sign, f"bold {hue}"),
        " ",
        (f"{page.number or '–':>2}  ", style or "$text-muted"),
        title.stylize(style) if style else title,
        " " * (room - title.cell_length + 2),
        (f"{page.kind:<{_KIND}}", "$text-muted"),
        (f"{page.minutes:>2} min", "$text-muted"),
        "   ",
        (f"{page.state:<{_STATE}} ", hue if page.is_left or page.state in ("done", "due") else "$text-muted"),
        (_BOOKMARK if page.is_bookmarked else " ", "bold $accent"),
    )


def about(page: MapPage) -> Content:
    """Return a line about the page and the meaning of its state."""
    step = page.step
    subject = f"Deeper: {step.teaser}" if step.teaser else step.subtitle or step.title
    meaning = {
        "done": "Everything on this page is done.",
        "due": "Done, and due for review: v on the home screen asks its question again.",
        "wrong": "A wrong answer waits for a right one.",
        "read": "You opened this page; something on it is still to do.",
        "new": "You have not opened this page.",
        "known": "Your pre-test says that you know this page: Enter on other pages passes over it.",
        "skipped": "You skip this page: Enter on other pages passes over it.",
    }[page.state]
    if page.can_restore:
        meaning = f"Reset: {key_name('map.reset')} brings your earlier work back."
    return Content.assemble(subject[:1].upper() + subject[1:], "\n", (meaning, "$text-muted"))
