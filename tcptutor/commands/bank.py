"""`tcptutor bank`: export the course's questions to learning management systems."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from tcptutor.base import places
from tcptutor.base.errors import UsageError, quoted
from tcptutor.base.files import atomic
from tcptutor.base.places import has_matplotlib, matplotlib_command
from tcptutor.base.printable import is_printable
from tcptutor.commands.grade import read_course_key
from tcptutor.commands.output import Bar, count, print_lines, remark, warn
from tcptutor.commands.targets import check_targets
from tcptutor.course.activity import Question
from tcptutor.course.outline import Course, Module, pages, read_course
from tcptutor.exchange import plot
from tcptutor.grading.banks.gift import format_gift
from tcptutor.grading.banks.items import Bank, Exam, build_bank
from tcptutor.grading.banks.pages import PANELS, RecordedPages
from tcptutor.grading.banks.qti import write_qti
from tcptutor.run import Run

_WIDTH = 1050
"""Width of a chart in pixels: twice the width of a question on a screen."""
_COLORS = 128
_EXAM = "exam"
"""Name of an exam without a name."""
_LONGEST_EXAM = 60


class BankRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor bank`."""

    targets: tuple[str, ...]
    kind: str
    output: str | None
    variants: int
    key: str | None
    exam: str | None
    replace: bool


def write_bank(request: BankRequest) -> int:
    """Write the question bank and return the exit code. Raises TutorError."""
    if request.output is None and request.kind == "qti":
        raise UsageError("QTI is a zip file: name it with -o, such as -o questions.zip")
    if request.output is not None:
        check_targets([Path(request.output)], [], replace=request.replace)
    exam = _exam(request.key, request.exam)
    root = places.lessons()
    course, problems = read_course(root)
    for problem in problems:
        warn(str(problem))
    questions = _collect(course, _modules(course, root, request.targets), request.variants, exam)
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
    for line in _summary(questions, request.output, exam):
        report(line)
    return 0


def _exam(key: str | None, name: str | None) -> Exam | None:
    if key is None:
        if name is not None:
            raise UsageError("--exam draws numbers with the course's key: give --key FILE, too")
        return None
    _, secret = read_course_key(key)
    if secret is None:
        raise UsageError("--key: every student has this code: give the key's file")
    plain = " ".join((name or _EXAM).split())
    if not plain or "/" in plain or len(plain) > _LONGEST_EXAM or not is_printable(plain):
        raise UsageError(f"--exam: {quoted(plain)} is not a name: give one like midterm")
    return Exam(plain, secret.exam_seed)


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


def _collect(course: Course, modules: Sequence[Module], variants: int, exam: Exam | None) -> Bank:
    def build(recorded: RecordedPages) -> Bank:
        return build_bank(course.title, modules, recorded, variants, exam)

    charts = sum(
        step.experiment is not None
        and any(each.about_run and not each.against_run for each in step.activities_of(Question))
        for module in modules
        for step in module.steps
    )
    if not charts:
        return build(RecordedPages(None))
    if not has_matplotlib():
        remark(f"charts are left out, as matplotlib is missing: run {matplotlib_command()}")
        return build(RecordedPages(None))
    with Bar("charts", charts) as bar:

        def draw(run: Run) -> bytes:
            drawn = drawn_chart(run)
            bar.advance(run.experiment.name)
            return drawn

        return build(RecordedPages(draw))


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


def _summary(questions: Bank, output: str | None, exam: Exam | None) -> list[str]:
    drawn = questions.items - questions.questions
    if exam is not None:
        whose = f", drawn with the course's key for {exam.name}"
    else:
        whose = ", with numbers that students can draw as well: --key draws an exam's own" if drawn else ""
    more = f", with all draws {count(questions.items, 'item')}" if drawn else ""
    charts = f", {count(len(questions.charts), 'chart')}" if questions.charts else ""
    lines = [f"wrote {output or 'the bank'}: {count(questions.questions, 'question')}{more}{charts}{whose}"]
    return [*lines, *(f"left out: {reason}" for reason in _reasons(questions))]


def _left_out(questions: Bank) -> str:
    return f" ({'; '.join(_reasons(questions))})" if questions.omitted else ""


def _reasons(questions: Bank) -> list[str]:
    return [f"{count(number, 'question')} {reason}" for reason, number in questions.omitted.items()]
