"""Per-student randomness: numbers in questions, the order of choices, seeds of runs, and the variant of a page.

Everything derives from an identity: in a graded course from the course's code and the student's name there,
otherwise from the student's journal. A teacher who knows both can recompute a student's numbers.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Collection, Mapping

SEEDS = 2**32
"""Run seeds are in [0, SEEDS)."""
DRAWS_AGAIN = 10
"""Attempts to draw different numbers when a question is repeated."""


def identity(course: str, student: str) -> str:
    """Return the hexadecimal identity of a student in the course with that code."""
    return hmac.new(course.encode(), student.encode(), hashlib.sha256).hexdigest()


def question_seed(identity: str, module: str, step: str, activity: str, attempts: int, again: int = 0) -> str:
    """Return the seed of a question's numbers after `attempts` attempts.

    `again` counts from 1 when the question is asked again and the numbers have to differ.
    """
    asked = [identity, module, step, activity, str(attempts)]
    return "/".join([*asked, "again", str(again)] if again else asked)


def review_seed(identity: str, module: str, step: str, activity: str, asked: int, again: int = 0) -> str:
    """Return the seed of a question's numbers in a review, after the question was asked on `asked` days.

    `again` counts from 1 when the numbers have to differ.
    """
    return "/".join([identity, module, step, activity, "review", str(asked), str(again)])


def draw_again(draw: Callable[[int], dict[str, str]], *known: Mapping[str, str]) -> dict[str, str]:
    """Draw until the numbers differ from the known ones, at most `DRAWS_AGAIN` times.

    Args:
        draw: Draws numbers in an attempt, which counts from 0.
        known: Numbers that the student has already seen.
    """
    drawn = draw(0)
    for attempt in range(1, DRAWS_AGAIN):
        if drawn not in known:
            break
        drawn = draw(attempt)
    return drawn


def order_seed(identity: str, module: str, step: str, activity: str) -> str:
    """Return the seed of the order in which an activity lists its entries."""
    return "/".join([identity, module, step, activity, "order"])


def shuffled(seed: str, count: int, fixed: Collection[int] = ()) -> tuple[int, ...]:
    """Shuffle the indexes below `count`, except for the indexes in `fixed`, which stay in place.

    The same seed gives the same order on every machine and with every version of Python.
    """
    free = [index for index in range(count) if index not in fixed]
    mixed = sorted(free, key=lambda index: hashlib.sha256(f"{seed}/{index}".encode()).digest())
    moved = dict(zip(free, mixed, strict=True))
    return tuple(moved.get(index, index) for index in range(count))


def run_seed(identity: str, module: str, step: str) -> int:
    """Return the seed of a page's first run; each complete run after it uses the next seed."""
    text = "/".join([identity, module, step, "run"])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def variant(identity: str, module: str, step: str, count: int) -> int:
    """Return the index of the student's variant among `count`."""
    text = "/".join([identity, module, step, "variant"])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % count
