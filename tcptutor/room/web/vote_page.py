"""HTML of the students' page: joining, voting, results. It works without scripts; page.js adds live updates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from statistics import median

from markdown_it import MarkdownIt

from tcptutor.base import units
from tcptutor.base.printable import escaped
from tcptutor.course.page_references import without_links
from tcptutor.room.asked import LETTERS
from tcptutor.room.talk import Tally
from tcptutor.room.votes import VoterView

_QUESTION = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
_CHOICE = MarkdownIt("commonmark", {"html": False}).disable(["image", "link", "autolink"])
_BINS = 16
_WIDEST = math.log(1000)
"""Half of the longest axis of a histogram in natural logarithms, around the right value or the median."""
_VOTES = ("First vote", "Second vote")
_LOOK_AGAIN = '<noscript><p><a class="again" href="/">Look again</a></p></noscript>'


def page(title: str, body: str, version: str = "", *, follows: bool = False) -> str:
    """Return a complete page.

    Args:
        title: Title of the lecture.
        body: Content of the page: `join_form` or `shown`.
        version: Version of the view that is shown, for the script.
        follows: The script replaces the content when the view changes.
    """
    script = f'<script src="/assets/page.js?{version.partition("-")[0]}" defer></script>'
    name = escape(escaped(title)) or "Lecture"
    attributes = f' data-version="{escape(version)}"' if follows else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title>"
        '<meta name="color-scheme" content="light dark">'
        '<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/page.css">'
        f"{script}</head><body><header><p>{name}</p>"
        '<p id="line" role="status" hidden>Connection lost. Trying again…</p></header>'
        f'<main id="view"{attributes}>{body}</main></body></html>'
    )


def join_form(code: str = "", problem: str = "", *, with_names: bool = False) -> str:
    """Return the form to join.

    Args:
        code: Code of the lecture if the URL has it; the script then joins at once, unless it may ask for a name.
        problem: Reason why joining failed.
        with_names: Ask for a name.
    """
    automatic = ' data-join="now"' if code and not with_names and not problem else ""
    asked = (
        f'<input type="hidden" name="code" value="{escape(code)}">'
        if code
        else '<label>Code on the screen<input class="code" name="code" required maxlength="12" autocomplete="off"'
        ' autocapitalize="characters" spellcheck="false" autofocus></label>'
    )
    name = (
        '<label>Your name <span class="dim">(your teacher sees it)</span>'
        '<input name="name" maxlength="40" autocomplete="name"></label>'
        if with_names
        else ""
    )
    note = "" if with_names else '<p class="dim">Votes are anonymous.</p>'
    return (
        f'<h1>Join the lecture</h1><form method="post" action="/join"{automatic}>{asked}{name}'
        f'{_message(problem, is_problem=True)}<button class="main">Join</button></form>{note}'
    )


def shown(view: VoterView, said: str = "", *, is_problem: bool = False) -> str:
    """Return the content of a voter's page.

    Args:
        view: The voter's own view.
        said: A line about the voter's last vote.
        is_problem: The vote was not counted.
    """
    line = _message(said, is_problem=is_problem)
    match view.state:
        case "waiting":
            return f"<h1>You’re in</h1>{line}<p>Keep this page open: the next question appears here.</p>{_LOOK_AGAIN}"
        case "voting":
            return _voting(view, line)
        case "closed":
            return (
                f"<h1>The vote is closed</h1>{line}<p>Look at the screen in front.</p>"
                f"{_LOOK_AGAIN}{_own_flow(view)}{_question(view)}{_own(view)}"
            )
        case "discussing":
            return (
                f"<h1>Discuss</h1>{line}<p>Find somebody who answered differently, and convince each other."
                f" Then you vote again.</p>{_LOOK_AGAIN}{_question(view)}{_own(view)}"
            )
        case "revealed":
            results = _choice_results(view) if view.choices else _number_results(view)
            return f"<h1>Results</h1>{line}{_own_flow(view)}{_question(view)}{results}{_reasons(view)}{_LOOK_AGAIN}"


def ended() -> str:
    """Return the content of the page after the lecture."""
    return "<h1>The lecture has ended</h1><p>You can close this page.</p>"


def _message(line: str, *, is_problem: bool = False) -> str:
    if not line:
        return ""
    kind = "problem" if is_problem else "done"
    return f'<p class="said {kind}" role="{"alert" if is_problem else "status"}">{escape(escaped(line))}</p>'


def _question(view: VoterView) -> str:
    setting = f'<p class="dim">{escape(escaped(view.setting))}</p>' if view.setting else ""
    return f'<div class="question">{_QUESTION.render(without_links(view.text))}{setting}</div>'


def _choice(text: str) -> str:
    return str(_CHOICE.renderInline(without_links(text)))


def _voting(view: VoterView, line: str) -> str:
    alone = "on your own" if view.round == 1 else "after the discussion"
    if not line and view.answer is not None:
        line = _message(f"Counted: {view.answer_words}" if not view.choices else "Your answer is counted.")
    if view.answer is not None:
        line += '<p class="dim">You can change it until the vote closes.</p>'
    inputs = _choice_buttons(view) if view.choices else _number_field(view)
    return (
        f'<h1 class="round">{_VOTES[view.round - 1]}, {alone}</h1>{_question(view)}'
        f'<form method="post" action="/vote"><input type="hidden" name="poll" value="{escape(view.poll)}">'
        f"{inputs}</form>{line}"
    )


def _choice_buttons(view: VoterView) -> str:
    buttons = (
        f'<li><button name="answer" value="{at}" aria-pressed="{"true" if at == view.answer else "false"}">'
        f"{_letter(at)}<span>{_choice(text)}</span></button></li>"
        for at, text in enumerate(view.choices)
    )
    return f'<ul class="choices">{"".join(buttons)}</ul>'


def _number_field(view: VoterView) -> str:
    value = escape(str(view.answer)) if view.answer is not None else ""
    plain = f", or a plain number in {view.plain_unit}" if view.plain_unit else ""
    return (
        f'<label>Your answer <span class="dim">(like {escape(view.example + plain)})</span>'
        f'<input name="answer" value="{value}" required maxlength="40" autocomplete="off" spellcheck="false">'
        '</label><button class="main">Vote</button>'
    )


def _own(view: VoterView) -> str:
    """Return the choices with the voter's choice marked, or the number that the voter entered."""
    none = "" if view.answer is not None else '<p class="dim">You have not answered.</p>'
    if not view.choices:
        return none or f"<p>Your answer: <strong>{escape(escaped(view.answer_words))}</strong></p>"
    items = (
        f'<li class="own">{_letter(at)}{_choice(text)} {_tag("yours")}</li>'
        if at == view.answer
        else f"<li>{_letter(at)}{_choice(text)}</li>"
        for at, text in enumerate(view.choices)
    )
    return f'{none}<ul class="listed">{"".join(items)}</ul>'


def _own_flow(view: VoterView) -> str:
    """Return the voter's flow in a room experiment, with its rate and rank after the run."""
    if view.flow is None:
        return ""
    flow = view.flow
    fair = f"an equal share is {units.rate(flow.fair_bps, 2)}"
    shared = f" {flow.others} other{'s own' if flow.others > 1 else ' owns'} it, too." if flow.others else ""
    if flow.bps is None or flow.rank is None:
        got = f'<p class="got">{escape(flow.algorithm)}</p><p>One of {flow.flows} flows; {fair}.{shared}</p>'
    else:
        earlier = ""
        if flow.earlier_algorithm:
            rate = units.rate(flow.earlier_bps, 2)
            earlier = f"<p>Before: <strong>{rate}</strong>, {escape(flow.earlier_algorithm)}. Now:</p>"
        got = (
            f'{earlier}<p class="got">{units.rate(flow.bps, 2)}</p><p>{escape(flow.algorithm)}, place {flow.rank} of'
            f" {flow.flows}; {fair}.{shared}</p>"
        )
    return f'<div class="flow"><h2>Your flow</h2>{got}</div>'


def _letter(at: int) -> str:
    """Return the letter of a choice, as on the stage."""
    return f'<b class="letter">{LETTERS[at]}</b> '


def _tag(name: str) -> str:
    return f'<b class="tag {name}">{name}</b>'


def _choice_results(view: VoterView) -> str:
    items = []
    for at, text in enumerate(view.choices):
        tags = [name for name, has in (("right", at == view.right), ("yours", at == view.answer)) if has]
        marks = " ".join(map(_tag, tags))
        bars = "".join(_bar(name, tally, at) for name, tally in _named_tallies(view.results))
        items.append(f'<li class="{" ".join(tags)}"><p>{_letter(at)}{_choice(text)} {marks}</p>{bars}</li>')
    return f'<ul class="results">{"".join(items)}</ul>{_answered(view)}'


def _bar(name: str, tally: Tally, at: int) -> str:
    share = tally.counts[at] / tally.answered if tally.answered else 0.0
    return (
        f'<p class="bar"><svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="empty" width="100" height="1"/><rect width="{share * 100:.1f}" height="1"/></svg>'
        f"<span>{name.partition(' ')[0]} {tally.percentages[at]} %</span></p>"
    )


def _number_results(view: VoterView) -> str:
    own = [] if view.answer is None else [f"<p>Your answer: <strong>{escape(view.answer_words)}</strong></p>"]
    charts = []
    for name, tally in _named_tallies(view.results):
        target, right = _target(view, tally), ""
        if target is not None:
            kind = "measured" if tally.right_value is None else "right"
            right = f"; {kind}: {units.rounded(target, view.unit)}"
        charts.append(
            f'<h2>{name}<span class="dim">{escape(right)}</span></h2>{_histogram(tally.values, target, view.unit)}'
        )
    return f"{''.join(own)}{''.join(charts)}{_answered(view)}"


def _target(view: VoterView, tally: Tally) -> float | None:
    """Return the right value of a round, or the measured value of a prediction; None if unknown."""
    return view.measured if tally.right_value is None else tally.right_value


def _histogram(values: Sequence[float], target: float | None, unit: str) -> str:
    """Draw numeric answers on a log axis, with a line at `target`; outliers fall into the outer bins."""
    if not values:
        return ""
    middle = math.log(target or median(values))
    logs = [math.log(value) - middle for value in values]
    low, high = max(-_WIDEST, min(0.0, *logs) - 0.2), min(_WIDEST, max(0.0, *logs) + 0.2)
    width = 100 / _BINS

    def across(value: float) -> float:
        return min(99.99, max(0.0, (value - low) / (high - low) * 100))

    counts = Counter(int(across(value) / width) for value in logs)
    most = max(counts.values())
    bars = (
        f'<rect x="{at * width + 0.4:.1f}" width="{width - 0.8:.1f}" y="{24 - count / most * 22:.1f}"'
        f' height="{count / most * 22:.1f}"/>'
        for at, count in sorted(counts.items())
    )
    x = f"{across(0.0):.1f}"
    mark = f'<line class="right" x1="{x}" x2="{x}" y1="0" y2="24"/>' if target else ""
    ends = (escape(units.rounded(math.exp(end + middle), unit, 2)) for end in (low, high))
    return (
        f'<svg class="histogram" viewBox="0 0 100 24.5" preserveAspectRatio="none" aria-hidden="true">'
        f'{"".join(bars)}<line class="axis" x1="0" x2="100" y1="24" y2="24"/>{mark}</svg>'
        f'<p class="ends dim"><span>{next(ends)}</span><span>{next(ends)}</span></p>'
    )


def _named_tallies(results: Iterable[Tally]) -> Iterator[tuple[str, Tally]]:
    return zip(_VOTES, results, strict=False)


def _answered(view: VoterView) -> str:
    counts = " and ".join(str(tally.answered) for tally in view.results)
    return f'<p class="dim">Answers: {counts}</p>'


def _reasons(view: VoterView) -> str:
    """Return the reason for the right answer, and the feedback on the popular wrong answer."""
    reasons = filter(None, (view.why_right, view.why_popular_wrong))
    return "".join(f'<div class="why">{_QUESTION.render(without_links(each))}</div>' for each in reasons)
