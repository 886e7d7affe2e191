"""Report of a lecture's votes as text for the teacher, as JSON, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from string import ascii_uppercase
from textwrap import shorten

import msgspec

from tcptutor.base import units
from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.base.printable import escaped
from tcptutor.room.excerpts import plain
from tcptutor.room.polls import Poll
from tcptutor.room.talk import AlgorithmTotal, MarkedValue, Tally

_LONGEST = 100
"""Most characters of a question or a choice."""
_SHORT = 12
"""Most characters of a choice that the report names by its text, instead of its letter."""


class ReportedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Anonymous results of a question: right and wrong answers earn the same."""

    number: int
    module: str
    page: str
    activity: str
    text: str
    """The question with the numbers of the first round; Markdown."""
    choices: tuple[str, ...]
    right: tuple[int, ...]
    """Indexes of the right choices, from 0."""
    unit: str
    rounds: tuple[Tally, ...]
    seconds: tuple[float, ...]
    """Seconds that each vote was open."""
    voted_twice: int
    gain: float | None
    """Normalized gain of repeat voters; None without any, or if all were right at first."""
    models: tuple[MarkedValue, ...]
    measured: float | None
    title: str = ""
    """Headline of the slide of a question that is on no page."""
    flows: dict[int, tuple[AlgorithmTotal, ...]] = {}
    """Payload of the flows that a round picked, by number of the round from 1."""


class Participation(msgspec.Struct, frozen=True):
    """Named voter, with the number of questions that the voter answered."""

    name: str
    answered: int


class VoteReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of all questions of a lecture."""

    joined: int
    questions: tuple[ReportedQuestion, ...]
    gain: float | None
    """Mean of the questions' normalized gains; None without gains."""
    participation: tuple[Participation, ...] = ()
    """Empty if votes are anonymous."""

    def text(self) -> str:
        """Return the report for a terminal."""
        lines = [f"{self.joined} joined, {_count(len(self.questions), 'question')}"]
        for each in self.questions:
            place = f"{each.module}/{each.page}" if each.page else escaped(each.title)
            lines += ["", f"{each.number}. {': '.join(filter(None, (place, each.activity)))}"]
            lines += [f"   {line}" for line in _question_lines(each)]
            for at in range(len(each.rounds)):
                lines.append(f"   {('first', 'second')[at]} vote: {_tally_line(each, at)}")
                if totals := each.flows.get(at + 1):
                    lines.append(f"   its flows: {_totals_line(totals)}")
            if each.gain is not None:
                lines.append(f"   normalized gain {each.gain:+.2f} among {each.voted_twice} who voted twice")
            if each.measured is not None:
                lines.append(f"   measured {units.rounded(each.measured, each.unit)}")
            if each.models:
                named = (f"{mark.label} {units.rounded(mark.value, each.unit)}" for mark in each.models)
                lines.append(f"   models: {'; '.join(named)}")
        if self.gain is not None:
            lines += ["", f"Mean normalized gain: {self.gain:+.2f}"]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """Return the report as JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"

    def csv(self) -> str:
        """Return a row per question and round."""
        table = io.StringIO()
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(_COLUMNS)
        for each in self.questions:
            for at, tally in enumerate(each.rounds):
                rows.writerow(
                    (
                        each.number,
                        each.module,
                        each.page,
                        each.activity,
                        at + 1,
                        tally.answered,
                        "" if tally.right is None else tally.right,
                        " ".join(map(str, tally.counts)),
                        f"{median(tally.values):.6g}" if tally.values else "",
                        f"{each.seconds[at]:g}" if at < len(each.seconds) else "",
                        each.voted_twice,
                        "" if each.gain is None else f"{each.gain:.3f}",
                    )
                )
        return table.getvalue()


_COLUMNS = (
    "number",
    "module",
    "page",
    "question",
    "round",
    "answered",
    "right",
    "counts",
    "median",
    "seconds",
    "voted twice",
    "gain",
)


def report_polls(polls: Sequence[Poll], *, joined: int, names: Mapping[str, str]) -> VoteReport:
    """Return the report on the polls with a closed first vote."""
    ended = [poll for poll in polls if poll.seconds]
    gains = [poll.gain for poll in ended if poll.gain is not None]
    participation = [
        Participation(name, sum(any(voter in answers for answers in poll.answers) for poll in ended))
        for voter, name in names.items()
    ]
    return VoteReport(
        joined=joined,
        questions=tuple(map(_report_poll, ended)),
        gain=sum(gains) / len(gains) if gains else None,
        participation=tuple(sorted(participation, key=lambda each: each.name)),
    )


def _report_poll(poll: Poll) -> ReportedQuestion:
    first = poll.asked.rounds[0]
    return ReportedQuestion(
        number=poll.number,
        module=poll.asked.module,
        page=poll.asked.page,
        activity=poll.asked.activity,
        text=first.text,
        choices=first.choices,
        right=first.right,
        unit=poll.asked.unit,
        rounds=tuple(map(poll.tally, range(len(poll.answers)))),
        seconds=tuple(poll.seconds),
        voted_twice=len(poll.twice),
        gain=poll.gain,
        models=poll.models,
        measured=poll.measured,
        title=poll.asked.title,
        flows={at + 1: run.totals for at, run in poll.flows.items()},
    )


def _question_lines(question: ReportedQuestion) -> Iterator[str]:
    """Yield the question, and the choices that the report names by their letters."""
    yield shorten(escaped(plain(question.text)), _LONGEST, placeholder=" …")
    for letter, choice in zip(ascii_uppercase, question.choices, strict=False):
        if len(choice) > _SHORT:
            yield f"{letter}  {shorten(escaped(plain(choice)), _LONGEST, placeholder=' …')}"


def _tally_line(question: ReportedQuestion, at: int) -> str:
    tally = question.rounds[at]
    line = _count(tally.answered, "answer")
    if tally.right is not None and tally.answered:
        line += f", {units.share(tally.right / tally.answered)} right"
    if tally.values:
        line += f", median {units.rounded(median(tally.values), question.unit)}"
    if tally.counts:
        names = [_choice_name(question, index) for index in range(len(tally.counts))]
        line += f" ({', '.join(f'{name} {count}' for name, count in zip(names, tally.counts, strict=True))})"
    return line


def _totals_line(totals: Sequence[AlgorithmTotal]) -> str:
    return ", ".join(
        f"{algorithm_name(each.algorithm)} {units.rate(each.bps / each.flows, 2)} a flow"
        f" (all {each.flows}: {units.rate(each.bps, 2)})"
        for each in totals
    )


def _choice_name(question: ReportedQuestion, index: int) -> str:
    """Return a short choice's text or a long choice's letter, with a check mark if it is right."""
    text = question.choices[index]
    name = text if len(text) <= _SHORT else ascii_uppercase[index]
    return f"{name} ✓" if index in question.right else name


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
