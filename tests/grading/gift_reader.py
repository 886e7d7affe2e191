"""GIFT as Moodle reads it, and stricter: what Moodle would let pass in silence is refused.

The steps and their order are those of Moodle's importer (question/format/gift/format.php, question/format.php).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ESCAPED = ":#={}~"
GRADES = tuple(round(each / 100, 7) for each in (
    100, 90, 83.33333, 80, 75, 70, 66.66667, 60, 50, 40, 33.33333, 30, 25, 20, 16.66667, 14.28571, 12.5, 11.11111,
    10, 5, 0,
))  # fmt: skip
"""The shares that Moodle knows; it refuses others. Each may be taken away as well."""


class GiftAnswer(NamedTuple):
    text: str
    fraction: float
    feedback: str
    tolerance: float = 0.0


class GiftQuestion(NamedTuple):
    category: str
    name: str
    text: str
    kind: str
    answers: tuple[GiftAnswer, ...]
    """Of a matching question the text of each is what it is matched with, its feedback the answer."""
    feedback: str


def questions(text: str) -> Iterator[GiftQuestion]:
    category = ""
    for block in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in block.split("\n") if not line.strip().startswith("//")]
        found = _hidden("\n".join(lines).strip())
        if not found:
            continue
        if found.startswith("$CATEGORY:"):
            category = found.removeprefix("$CATEGORY:").strip()
            assert "\n" not in category
            continue
        yield _question(category, found)


def _question(category: str, found: str) -> GiftQuestion:
    assert found.startswith("::")
    name, _, rest = found[2:].partition("::")
    assert (rest.count("{"), rest.count("}"), rest[-1]) == (1, 1, "}"), rest
    stem, _, inside = rest[:-1].partition("{")
    assert not set(stem) & set("~=#"), stem
    assert stem.startswith("[html]")
    answers, mark, feedback = inside.strip().rpartition("####")
    assert mark
    kind, parsed = _answers(answers.strip())
    return GiftQuestion(category, _shown(name), _text(stem), kind, tuple(parsed), _text(feedback))


def _answers(text: str) -> tuple[str, list[GiftAnswer]]:
    if text.startswith("#"):
        return "numerical", list(_numbers(text[1:]))
    if "~" in text:
        return ("multichoice" if "=" in text else "multianswer"), list(_choices(text))
    assert "=" in text and "->" in text
    return "match", list(_pairs(text))


def _numbers(text: str) -> Iterator[GiftAnswer]:
    text, _, wrong = text.partition("~")
    for each in _parts(text, "="):
        fraction, rest = _share(each, 1.0)
        number, feedback = _with_feedback(rest)
        value, _, tolerance = number.partition(":")
        float(value)
        yield GiftAnswer(value, fraction, feedback, float(tolerance or 0))
    # Its text is not looked at: all that no other answer takes is this one.
    _, feedback = _with_feedback(wrong)
    yield GiftAnswer("*", 0.0, feedback)


def _choices(answers: str) -> Iterator[GiftAnswer]:
    for each in _parts(answers.replace("=", "~="), "~"):
        right = each.startswith("=")
        fraction, rest = (1.0, each[1:]) if right else _share(each, 0.0)
        assert abs(fraction) in GRADES, each
        text, feedback = _with_feedback(rest)
        yield GiftAnswer(text, fraction, feedback)


def _pairs(text: str) -> Iterator[GiftAnswer]:
    for each in _parts(text, "="):
        left, arrow, right = each.partition("->")
        assert arrow and "->" not in right
        yield GiftAnswer(_text(left), 0.0, _shown(right).strip())


def _parts(text: str, mark: str) -> list[str]:
    first, *parts = text.split(mark)
    assert not first.strip(), first
    return [part.strip() for part in parts]


def _share(text: str, otherwise: float) -> tuple[float, str]:
    if not re.match(r"%-*([0-9]{1,2})\.?([0-9]*)%", text):
        return otherwise, text
    share, _, rest = text[1:].partition("%")
    return round(float(share) / 100, 7), rest


def _with_feedback(text: str) -> tuple[str, str]:
    assert text.count("#") == 1, text
    shown, _, feedback = text.partition("#")
    return _text(shown), _text(feedback)


def _text(text: str) -> str:
    """What is left of it when its format has been taken off."""
    text = text.strip()
    name, bracket, rest = text[1:].partition("]")
    if text.startswith("[") and bracket and name in ("html", "moodle", "plain", "markdown"):
        assert name == "html"
        text = rest
    return _shown(text).strip()


def _hidden(text: str) -> str:
    """Escaped characters as others that mean nothing."""
    parts, at = [], 0
    while at < len(text):
        if text[at] != "\\":
            parts.append(text[at])
            at += 1
            continue
        after = text[at + 1]
        assert after in f"{ESCAPED}\\n", text[at : at + 20]
        parts.append("\\" if after == "\\" else chr(0xE000 + ord("\n" if after == "n" else after)))
        at += 2
    return "".join(parts)


def _shown(text: str) -> str:
    return re.sub("[\ue000-\ue0ff]", lambda found: chr(ord(found[0]) - 0xE000), text)
