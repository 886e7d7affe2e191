"""`tcptutor bank`: export the course's questions to learning management systems."""

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
from tcptutor.base.places import has_matplotlib, matplotlib_command
from tcptutor.commands.output import Bar, count, print_lines, remark, warn
from tcptutor.commands.targets import check_targets
from tcptutor.course.activity import Question
from tcptutor.course.outline import Course, Module, pages, read_course
from tcptutor.exchange import plot
from tcptutor.grading.banks.gift import format_gift
from tcptutor.grading.banks.items import Bank, build_bank
from tcptutor.grading.banks.pages import PANELS, RecordedPages
from tcptutor.grading.banks.qti import write_qti
from tcptutor.run import Run

_WIDTH = 1050
"""Width of a chart in pixels: twice the width of a question on a screen."""
_COLORS = 128


class BankRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor bank`."""

    targets: tuple[str, ...]
    kind: str
    output: str | None
    variants: int
    lessons: Path | None
    replace: bool


def write_bank(request: BankRequest) -> int:
    """Write the question bank and return the exit code. Raises TutorError."""
    if request.output is None and request.kind == "qti":
        raise UsageError("QTI is a zip file: name it with -o, such as -o questions.zip")
    if request.output is not None:
        check_targets([Path(request.output)], [], replace=request.replace)
    root = request.lessons or places.lessons()
    course, problems = read_course(root)
    for problem in problems:
        warn(str(problem))
    questions = _collect(course, _modules(course, root, request.targets), request.variants)
    if not questions.items:
        where = f" on {', '.join(request.targets)}" if request.targets else " in the course"
        raise UsageError(f"no question{where} can be exported{_left_out(questions)}: choose another page")
    report: Callable[[str], None] = remark
    if request.output is None:
        print_lines(format_gift(questions).split("\n")[:-1])
    else:
        with atomic(Path(request.output), "give another place with -o") as temporary:
            temporary.write_bytes(_encoded(questions, request.kind))
        report = _print_line
    for line in _summary(questions, request.output):
        report(line)
    return 0


def _print_line(line: str) -> None:
    print_lines([line])


def _modules(course: Course, root: Path, targets: Sequence[str]) -> list[Module]:
    """Return the requested modules in course order, each with the requested pages."""
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


def _collect(course: Course, modules: Sequence[Module], variants: int) -> Bank:
    charts = sum(
        step.experiment is not None
        and any(each.about_run and not each.against_run for each in step.activities_of(Question))
        for module in modules
        for step in module.steps
    )
    if not charts:
        return build_bank(course.title, modules, RecordedPages(None), variants)
    if not has_matplotlib():
        remark(f"charts are left out, as matplotlib is missing: run {matplotlib_command()}")
        return build_bank(course.title, modules, RecordedPages(None), variants)
    with Bar("charts", charts) as bar:

        def draw(run: Run) -> bytes:
            drawn = drawn_chart(run)
            bar.advance(run.experiment.name)
            return drawn

        return build_bank(course.title, modules, RecordedPages(draw), variants)


def drawn_chart(run: Run) -> bytes:
    """Return a PNG small enough for a question. Raises TutorError when a run cannot be drawn."""
    from PIL import Image  # noqa: PLC0415  # comes with matplotlib

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chart.png"
        plot.plot([run], path, PANELS)
        with Image.open(path) as large:
            size = _WIDTH, round(large.height * _WIDTH / large.width)
            small = large.convert("RGB").resize(size, Image.Resampling.LANCZOS)
            # The other methods lose faint colors, or merge two of them.
            small = small.quantize(_COLORS, Image.Quantize.FASTOCTREE)
    out = io.BytesIO()
    small.save(out, "PNG", optimize=True)
    return out.getvalue()


def _encoded(questions: Bank, kind: str) -> bytes:
    if kind == "gift":
        return format_gift(questions).encode()
    out = io.BytesIO()
    write_qti(questions, out)
    return out.getvalue()


def _summary(questions: Bank, output: str | None) -> list[str]:
    drawn = questions.items - questions.questions
    more = f", with all draws {count(questions.items, 'item')}" if drawn else ""
    charts = f", {count(len(questions.charts), 'chart')}" if questions.charts else ""
    lines = [f"wrote {output or 'the bank'}: {count(questions.questions, 'question')}{more}{charts}"]
    return [*lines, *(f"left out: {reason}" for reason in _reasons(questions))]


def _left_out(questions: Bank) -> str:
    return f" ({'; '.join(_reasons(questions))})" if questions.omitted else ""


def _reasons(questions: Bank) -> list[str]:
    return [f"{count(number, 'question')} {reason}" for reason, number in questions.omitted.items()]
