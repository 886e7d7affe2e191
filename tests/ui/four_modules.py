"""A course of four modules whose pages are only read: what has been on the screen is done."""

from __future__ import annotations

from tcptutor.course.outline import Course, Module
from tcptutor.course.step import Step

TITLES = {
    "basics": "TCP basics",
    "algorithms": "Congestion algorithms",
    "streams": "Parallel streams",
    "pacing": "Pacing",
}


def four_modules() -> Course:
    """12, 14, 16 and 18 pages; the module "basics" has the pages page-1 to page-12."""
    return Course(
        title="A course of four",
        modules=tuple(_module(number, id_, 10 + 2 * number) for number, id_ in enumerate(TITLES, 1)),
    )


def _module(number: int, id_: str, pages: int) -> Module:
    title = TITLES[id_]
    steps = [
        Step(id=f"page-{page}", title=f"The page of {title} with number {page}", prose="Words.")
        for page in range(1, pages + 1)
    ]
    return Module(
        id=id_,
        number=number,
        title=title,
        objectives=(f"Say what {title} is about", "Work out what it gives"),
        sources=("a source",),
        steps=tuple(steps),
    )
