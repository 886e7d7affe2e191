"""Links to pages: completed when a course is read, and checked against its order."""

from __future__ import annotations

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.authoring.page_order import PageOrder
from tcptutor.course import Course, Module, read_course
from tcptutor.course.page_references import page_of_link, references, without_links
from tcptutor.course.step import Step
from tcptutor.grading.banks.pages import inline, page

from .conftest import STEP, Edit, module_of, only

EARLIER, LATER = "parallel-streams/what-a-stream-is", "parallel-streams/four-lossy-flows"


def test_empty_words_become_the_title_and_the_module_is_completed(edit: Edit) -> None:
    root = edit(
        STEP, "\n+++\n", "\n+++\nSee [](page:what-a-stream-is), or\n[a\nlater one](later:four-lossy-flows). "
    )
    steps = {step.id: step for step in module_of(read_course(root)[0]).steps}
    step, title = steps["one-lossy-flow"], steps["what-a-stream-is"].title
    first, second, *_ = references(step.prose)
    assert first == (f"“{title}”", "page", EARLIER)
    assert second == ("a\nlater one", "later", LATER)
    assert step.prose.startswith(f"See [“{title}”](page:{EARLIER})")


def test_exports_have_the_words_alone() -> None:
    text = f"as on [“One file”](page:{EARLIER}) and [then](later:{LATER}), not [a site](https://example.org)"
    assert without_links(text) == "as on “One file” and then, not [a site](https://example.org)"
    assert inline(f"see [“One file”](page:{EARLIER})") == "see “One file”"
    assert "<a" not in page(f"see [“One file”](page:{EARLIER})")
    assert page_of_link(f"later:{LATER}") == LATER
    assert page_of_link("https://example.org") == ""


BAD = {
    "[so](page:one/firsd)": "no page 'one/firsd': did you mean one/first?",
    "[so](page:two/last)": "'two/last' comes later: write later: in place of page:",
    "[so](later:one/first)": "'one/first' comes earlier: write page: in place of later:",
    "[so](page:one/deep)": "'one/deep' goes deeper: an essential page",
    "[so](page:one/second)": "refers to the page itself",
    "As on the page\nbefore.": "'page before' names a page by its position",
    "[The page before](page:one/first)": "'page before' names a page by its position",
    "The last page told.": "'last page' names a page by its position",
}
GOOD = ("[so](page:one/first)", "[so](later:two/last)", "This page has a page of its own.")


def found_in(prose: str) -> list[str]:
    """Problems of the second page of three."""
    first = Step(id="first", title="First", prose="")
    second = Step(id="second", title="Second", prose=prose)
    one = first, Step(id="deep", title="Deep", prose="", path="deeper"), second
    steps = {"one": one, "two": (Step(id="last", title="Last", prose=""),)}
    modules = tuple(
        Module(id=id_, number=1, title=id_, objectives=(), sources=(), steps=each)
        for id_, each in steps.items()
    )
    order = PageOrder(Course(title="Three pages", modules=modules))
    return [reason for _, reason in order.problems(second, "one/second")]


@pytest.mark.parametrize(("prose", "said"), BAD.items())
def test_references_follow_the_order_of_the_course(prose: str, said: str) -> None:
    assert any(said in reason for reason in found_in(prose)), found_in(prose)


@pytest.mark.parametrize("prose", GOOD)
def test_references_to_pages_that_are_there_are_no_problem(prose: str) -> None:
    assert not found_in(prose)


def test_labels_have_no_links_and_the_linter_reports_them(edit: Edit) -> None:
    root = edit(STEP, 'title = "A single flow on a lossy path"', 'title = "As [](page:what-a-stream-is)"')
    assert any("title: cannot have page references" in line for line in lint(only(root, STEP)))
