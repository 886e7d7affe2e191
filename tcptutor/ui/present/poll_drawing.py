"""Drawings of a poll: how to join, the open vote, and the votes per choice."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from tcptutor.base import units
from tcptutor.base.errors import TutorError
from tcptutor.base.printable import escaped
from tcptutor.figures.lines import GOOD, MUTED, STRONG, TEXT, WARN
from tcptutor.room.asked import LETTERS
from tcptutor.room.talk import AudienceView, PollPhase, PollView, Tally
from tcptutor.room.web.addresses import is_private
from tcptutor.ui.present import large_text
from tcptutor.ui.present.join_code import qr_rows
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.prediction_histogram import FIRST_VOTE
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_figures import ROOM
from tcptutor.ui.present.stage_question import LETTER, draw_question, draw_question_line
from tcptutor.ui.widgets.page.text import inline

QR = "qr"
"""Style of a QR code."""

_GAP = 4
_LARGE_FROM = 24
"""Rows from which the key figures are five cells high."""
_BARS: tuple[Size, ...] = (5, 3, 1)
"""Rows of a bar."""
_ONLY_HERE = "Only this computer can join: start the lecture with --listen."
_CALLS: dict[PollPhase, str] = {
    "voting": "Vote alone",
    "counted": "Voting is closed",
    "discussing": "Discuss",
    "voting again": "Vote again",
    "revealed": "",
}


def draw_join(canvas: StageCanvas, audience: AudienceView) -> None:
    """Draw QR code, address, code, and the number of students who have joined."""
    if audience.problem or not audience.address:
        text = audience.problem or "Votes are off in this lecture."
        for row, line in enumerate(large_text.wrap(text, canvas.width, 1)):
            canvas.write(0, row * canvas.text_height(1), line, WARN)
        return
    address = audience.address.partition("://")[2] or audience.address
    size: Size = 3 if canvas.text_width(address, 3) <= canvas.width and canvas.height >= _LARGE_FROM else 1
    rows = canvas.height - canvas.text_height(size) - 1
    canvas.write(0, rows + 1, address, STRONG, size)
    problem = ""
    try:
        is_local = is_private(urlsplit(audience.address).hostname or "")
        code = [] if is_local else qr_rows(audience.address, canvas.width // 2, rows)
        problem = _ONLY_HERE if is_local else ""
    except TutorError as error:
        code, problem = [], str(error)
    for row, text in enumerate(code):
        canvas.put(0, row, text, QR)
        # Blanks take the style to their left.
        canvas.put(len(text), row, "\N{NO-BREAK SPACE}", TEXT)
    left = len(code[0]) + _GAP if code else 0
    row = _write_labelled(canvas, left, 0, "code", audience.code, LETTER)
    row = _write_labelled(canvas, left, row + 1, "joined", str(audience.joined), ROOM)
    for line in large_text.wrap(problem, canvas.width - left, 1):
        row += 1
        canvas.put(left, row, line, MUTED)


def _write_labelled(canvas: StageCanvas, column: int, row: int, label: str, text: str, style: str) -> int:
    """Write a large text below its label, and return the row after it."""
    size: Size = (
        5 if canvas.height >= _LARGE_FROM and column + canvas.text_width(text, 5) <= canvas.width else 3
    )
    canvas.write(column, row, label, MUTED)
    canvas.write(column, row + canvas.text_height(1), text, style, size)
    return row + canvas.text_height(1) + size


def draw_voting(canvas: StageCanvas, poll: PollView, audience: AudienceView) -> None:
    """Draw question, choices and the number of answers, but never the answers themselves."""
    size: Size = 5 if canvas.height >= _LARGE_FROM else 3
    status = canvas.height - size
    example = "" if poll.choices else f"Answer with a number, like {units.EXAMPLES.get(poll.unit, '42')}"
    example_size: Size = (
        2 if canvas.height >= _LARGE_FROM and canvas.text_width(example, 2) <= canvas.width else 1
    )
    hint = canvas.text_height(example_size) + 1 if example else 0
    question = StageCanvas(canvas.width, max(1, status - 1 - hint), is_scaled=canvas.is_scaled)
    choices = [escaped(each) for each in poll.choices]
    draw_question(question, escaped(poll.text, lines=True), choices, setting=escaped(poll.setting))
    canvas.place(question, 0, 0)
    canvas.write(0, status - hint, example, MUTED, example_size)
    _draw_status(canvas, status, size, poll, audience)


def _draw_status(canvas: StageCanvas, row: int, size: Size, poll: PollView, audience: AudienceView) -> None:
    """Write the number of answers, and the room's current task."""
    count = str(poll.answered)
    canvas.write(0, row, count, ROOM, size)
    column = canvas.text_width(count, size) + 2
    # Who has answered may have left again.
    of = f"of {audience.joined} answered" if audience.joined >= poll.answered else "answered"
    call = _CALLS[poll.phase]
    both = column + canvas.text_width(of, 2) + 2 + canvas.text_width(call, 3)
    of_size: Size = 2 if both <= canvas.width else 1
    canvas.write(column, row + size - canvas.text_height(of_size), of, TEXT, of_size)
    left = canvas.width - column - canvas.text_width(of, of_size) - 2
    call_size: Size = 3 if canvas.text_width(call, 3) <= left else 1
    start = canvas.width - canvas.text_width(call, call_size)
    canvas.write(start, row + size - max(call_size, canvas.text_height(call_size)), call, LETTER, call_size)


def draw_results(canvas: StageCanvas, poll: PollView) -> None:
    """Draw the share of each choice in both rounds, side by side, below the question if it fits."""
    rounds = poll.results
    choices = [_plain(choice) for choice in poll.choices]
    if not choices or not any(tally.answered for tally in rounds):
        canvas.write(0, 0, "Nobody has voted.", STRONG)
        return
    above = draw_question_line(
        canvas, poll.text, canvas.text_height(1) + len(choices) * (canvas.text_height(1) + 4)
    )
    shares = StageCanvas(canvas.width, canvas.height - above, is_scaled=canvas.is_scaled)
    _draw_shares(shares, poll, choices)
    canvas.place(shares, 0, above)


def _draw_shares(canvas: StageCanvas, poll: PollView, choices: Sequence[str]) -> None:
    rounds, one = poll.results, canvas.text_height(1)
    width = (canvas.width - _GAP * (len(rounds) - 1)) // len(rounds)
    lefts = [number * (width + _GAP) for number in range(len(rounds))]
    names = ("before the discussion", "after the discussion") if len(rounds) > 1 else ("",)
    answers = [f"{tally.answered} answer{'s' * (tally.answered != 1)}" for tally in rounds]
    heads = [
        [f"{name}: {each}".removeprefix(": ") for name, each in zip(names, answers, strict=True)],
        [f"{name.partition(' ')[0]}: {each}" for name, each in zip(names, answers, strict=True)],
        answers,
    ]
    fitting = (head for head in heads if all(canvas.text_width(text, 1) <= width for text in head))
    for left, text in zip(lefts, next(fitting, answers), strict=True):
        canvas.write(left, 0, text, MUTED)
    rows = (canvas.height - one) // len(choices)
    bar: Size = next((size for size in _BARS if size + one + 1 <= rows), 1)
    for index, choice in enumerate(choices):
        row = one + (rows >= max(bar, one) + one + 1) + index * rows
        is_right = index == poll.right
        canvas.write(0, row, LETTERS[index], GOOD if is_right else LETTER)
        text = f"{choice} ✓" if is_right else choice
        start = canvas.text_width("A", 1) + 2
        lines = canvas.wrap(text, canvas.width - start - canvas.text_width(" …", 1), 1) or [""]
        canvas.write(start, row, lines[0] + " …" * (len(lines) > 1), GOOD if is_right else TEXT)
        for left, tally in zip(lefts, rounds, strict=True):
            style = GOOD if is_right else ROOM if tally is rounds[-1] else FIRST_VOTE
            _draw_share(canvas, (left, row + one), width, bar, tally, index, style)


def _draw_share(
    canvas: StageCanvas, at: tuple[int, int], width: int, bar: Size, tally: Tally, index: int, style: str
) -> None:
    left, row = at
    count = tally.counts[index] if index < len(tally.counts) else 0
    share = count / tally.answered if tally.answered else 0.0
    size: Size = 1 if bar == 1 else 3
    room = width - canvas.text_width("100%", size) - 2
    halves = round(2 * share * room)
    for number in range(row, row + bar):
        canvas.put(left, number, "█" * (halves // 2) + "▌" * (halves % 2) + "▏" * (not halves), style)
    percentage = tally.percentages[index] if count else 0
    canvas.write(left + (halves + 1) // 2 + 2, row + (bar - size) // 2, f"{percentage}%", style, size)


def _plain(markdown: str) -> str:
    return escaped(inline(" ".join(markdown.split())).plain)
