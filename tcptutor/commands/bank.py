"""`tcptutor bank`: the course's questions, as course systems read them."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.base.files import atomic
from tcptutor.commands.bar import Bar
from tcptutor.commands.output import print_lines, remark, warn
from tcptutor.commands.targets import check_targets
from tcptutor.commands.words import count
from tcptutor.course.activity import Question
from tcptutor.course.loader import read_course
from tcptutor.course.model import Course, Module
from tcptutor.course.page_selection import pages
from tcptutor.exchange import plot
from tcptutor.exchange.drawing import can_draw, install_command
from tcptutor.grading.banks.gift import gift
from tcptutor.grading.banks.items import Bank, bank
from tcptutor.grading.banks.pages import PANELS, RecordedPages
from tcptutor.grading.banks.qti import write_qti
from tcptutor.run import Run

_WIDTH = 1050
"""Pixels of a chart: the column of a question on a screen, twice as fine."""
_COLOURS = 128


class BankRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `tcptutor bank` was asked for."""

    targets: tuple[str, ...]
    kind: str
    output: str | None
    variants: int
    lessons: Path | None
    replace: bool


def write_bank(asked: BankRequest) -> int:
    """The exit code. Raises TutorError."""
    if asked.output is None and asked.kind == "qti":
        raise UsageError("QTI is a zip: say with -o where it goes, such as -o questions.zip")
    if asked.output is not None:
        check_targets([Path(asked.output)], [], replace=asked.replace)
    root = asked.lessons or places.lessons()
    course, problems = read_course(root)
    for problem in problems:
        warn(str(problem))
    made = _made(course, _modules(course, root, asked.targets), asked.variants)
    if not made.items:
        where = f" on {', '.join(asked.targets)}" if asked.targets else " in the course"
        raise UsageError(f"no question{where} can be asked elsewhere{_left_out(made)}: give another page")
    say: Callable[[str], None] = remark
    if asked.output is None:
        print_lines(gift(made).split("\n")[:-1])
    else:
        with atomic(Path(asked.output), "give another place with -o") as beside:
            beside.write_bytes(_bytes(made, asked.kind))
        say = _print
    for line in _said(made, asked.output):
        say(line)
    return 0


def _print(line: str) -> None:
    print_lines([line])


def _modules(course: Course, root: Path, targets: Sequence[str]) -> list[Module]:
    """Those that are asked for, in the order of the course, each with the pages that are."""
    chosen: dict[str, set[str]] = {}
    for target in targets:
        for module in pages(root, target).modules:
            chosen.setdefault(module.id, set()).update(step.id for step in module.steps)
    if not targets:
        return list(course.modules)
    return [
        structs.replace(module, steps=[step for step in module.steps if step.id in chosen[module.id]])
        for module in course.modules
        if module.id in chosen
    ]


def _made(course: Course, modules: Sequence[Module], variants: int) -> Bank:
    charts = sum(
        step.experiment is not None
        and any(each.about_run and not each.against_run for each in step.activities_of(Question))
        for module in modules
        for step in module.steps
    )
    if not charts:
        return bank(course.title, modules, RecordedPages(None), variants)
    if not can_draw():
        remark(f"charts are left out: they need matplotlib: run {install_command()}")
        return bank(course.title, modules, RecordedPages(None), variants)
    with Bar("charts", charts) as bar:

        def draw(run: Run) -> bytes:
            drawn = drawn_chart(run)
            bar.one_more(run.experiment.name)
            return drawn

        return bank(course.title, modules, RecordedPages(draw), variants)


def drawn_chart(run: Run) -> bytes:
    """A PNG small enough to stand in a question. Raises TutorError where nothing can be drawn of a run."""
    from PIL import Image  # noqa: PLC0415  # comes with matplotlib

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chart.png"
        plot.plot([run], path, PANELS)
        with Image.open(path) as large:
            size = _WIDTH, round(large.height * _WIDTH / large.width)
            small = large.convert("RGB").resize(size, Image.Resampling.LANCZOS)
            # The other ways lose faint colours, or take two for one.
            small = small.quantize(_COLOURS, Image.Quantize.FASTOCTREE)
    out = io.BytesIO()
    small.save(out, "PNG", optimize=True)
    return out.getvalue()


def _bytes(made: Bank, kind: str) -> bytes:
    if kind == "gift":
        return gift(made).encode()
    out = io.BytesIO()
    write_qti(made, out)
    return out.getvalue()


def _said(made: Bank, output: str | None) -> list[str]:
    drawn = made.items - made.questions
    more = f", with all draws {count(made.items, 'item')}" if drawn else ""
    charts = f", {count(len(made.charts), 'chart')}" if made.charts else ""
    lines = [f"wrote {output or 'the bank'}: {count(made.questions, 'question')}{more}{charts}"]
    return [*lines, *(f"left out: {told}" for told in _reasons(made))]


def _left_out(made: Bank) -> str:
    return f" ({'; '.join(_reasons(made))})" if made.left_out else ""


def _reasons(made: Bank) -> list[str]:
    return [f"{count(number, 'question')} {reason}" for reason, number in made.left_out.items()]
