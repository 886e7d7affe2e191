"""Terms: in bold where they are explained, in the glossary, and spelled as it has them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.authoring.wording import Spelling
from tcptutor.base import places
from tcptutor.course import load
from tcptutor.course.glossary import Term, glossary, of_name

from .conftest import Edit, only, page

GLOSSARY = "glossary.toml"
OPENING = page("a-file-in-pieces", "01-tcp-basics")
FIRST = page("what-a-stream-is")
KNEE = page("up-to-the-knee")
ENTRY = """
[[term]]
word = "tail loss"
text = "The last segments of a burst do not arrive."
page = "parallel-streams/one-lossy-flow"
"""

CASES = {
    "a bold word that is no term": (
        KNEE,
        "rate of random loss does",
        "rate of random **noise** does",
        f"{KNEE}: prose: **noise** is not a term of glossary.toml",
    ),
    "a term that is explained twice": (
        KNEE,
        "Congestion loss does",
        "A **queue** does",
        f"{KNEE}: prose: **queue** is already explained on 'tcp-basics/where-the-time-goes'",
    ),
    "a term that no page explains": (
        GLOSSARY,
        "\n[[term]]",
        f"{ENTRY}\n[[term]]",
        "glossary.toml: term 'tail loss'.page: is not in **bold** in the prose of",
    ),
    "a page that does not explain it": (
        GLOSSARY,
        'than that in flight."\npage = "tcp-basics/who-says-how-much"',
        'than that in flight."\npage = "tcp-basics/a-larger-window"',
        "term 'receive window'.page: must be 'tcp-basics/who-says-how-much', where the term is in bold",
    ),
    "a page that is not": (
        GLOSSARY,
        'page = "tcp-basics/at-the-senders-end"',
        'page = "at-the-senders-end"',
        ".page: no page 'at-the-senders-end': write MODULE/PAGE",
    ),
    "a term twice": (
        GLOSSARY,
        'synonyms = ["flow"]',
        'synonyms = ["queue"]',
        "term 'stream': 'queue' already belongs to the term 'queue'",
    ),
    "four sentences": (
        GLOSSARY,
        "People also say flow.",
        "People say flow. Some say it. Some do not.",
        "term 'stream'.text: has 4 sentences: write one to 3",
    ),
    "a word twice": (
        KNEE,
        "At first the loss rate",
        "At first first the loss rate",
        f"{KNEE}: prose: repeats a word: 'first first'",
    ),
    "a hyphen that is missing": (
        KNEE,
        "Beyond the knee, more streams",
        "In one round trip time more streams",
        f"{KNEE}: prose: 'round trip time' is spelled 'round-trip time'",
    ),
    "in a question's feedback": (
        KNEE,
        "Count them all:",
        "By Rtt count them all:",
        f"{KNEE}: question neighbour: feedback: 'Rtt' is spelled 'RTT'",
    ),
    "in a choice's feedback": (
        FIRST,
        "The RTT comes from distance",
        "The rtt comes from distance",
        f"{FIRST}: question what-changes: choice[3].feedback: 'rtt' is spelled 'RTT'",
    ),
    "in the glossary itself": (
        GLOSSARY,
        "and waiting in queues",
        "and waiting in Good-put",
        "glossary.toml: term 'round-trip time': 'Good-put' is spelled 'goodput'",
    ),
    "an experiment that does not exist": (
        GLOSSARY,
        'experiment = "tcp-basics/link-rate"',
        'experiment = "tcp-basics/link-rates"',
        "glossary.toml: term 'bottleneck'.experiment: no experiment 'tcp-basics/link-rates': write MODULE/EXPERIMENT",
    ),
    "an abbreviation before it is explained": (
        OPENING,
        "The network makes no promises.",
        "The network promises a BDP.",
        f"{OPENING}: prose: 'BDP' is explained only later, on 'tcp-basics/the-path-as-a-pipe'",
    ),
}


def test_the_linter_holds_the_course_to_its_glossary(tmp_path: Path) -> None:
    """Lint as few copies of the course as possible: a copy gets every edit that still fits in it."""
    left, missing = dict(CASES), {}
    while left:
        root = Path(shutil.copytree(places.lessons(), tmp_path / f"{len(left)}"))
        edited = {}
        for name, (file, old, new, line) in left.items():
            text = (root / file).read_text(encoding="utf-8")
            if old in text:
                (root / file).write_text(text.replace(old, new, 1), encoding="utf-8")
                edited[name] = line
        assert edited, left
        found = lint(root)
        missing |= {name: line for name, line in edited.items() if not any(line in each for each in found)}
        left = {name: case for name, case in left.items() if name not in edited}
    assert missing == {}


def test_an_unknown_key_of_the_glossary_is_a_problem(edit: Edit) -> None:
    found = lint(only(edit(GLOSSARY, 'synonyms = ["hosts"]', 'nickname = "hosts"'), FIRST))
    assert any("glossary.toml: term[1].nickname: is not a key" in line for line in found), found


TERMS = (
    Term(word="round-trip time", abbreviation="RTT", text="t", page="r"),
    Term(word="slow start", synonyms=("slow-start",), text="t", page="r"),
    Term(word="queue", text="t", page="r"),
    Term(word="HyStart", text="t", page="r"),
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Round-trip times and queues. Queues! `rtt` and ``` slow  start ``` RTTs", []),
        ("slow start, slow-start threshold, Slow start", []),
        ("roundtrip time", ["roundtrip time"]),
        ("round–trip time, round trip\ntimes", ["round–trip time", "round trip times"]),
        ("a round trip takes time. A round. Trip time", []),
        ("Hystart and hystart", ["Hystart", "hystart"]),
        ("slowstart QUEUE", ["slowstart", "QUEUE"]),
    ],
)
def test_spelling_is_that_of_the_glossary(text: str, wrong: list[str]) -> None:
    assert [written for written, _ in Spelling(TERMS).misspelt(text)] == wrong


def test_a_term_is_found_by_any_of_its_names() -> None:
    root = load().root
    assert root
    terms = glossary(root)
    for name in ("round-trip time", "rtt", "RTTs", "Round-trip time"):
        found = of_name(terms, name)
        assert found
        assert found.abbreviation == "RTT"
    assert of_name(terms, "nothing") is None


def test_a_course_without_a_glossary_has_no_terms(tmp_path: Path) -> None:
    assert glossary(tmp_path) == ()
