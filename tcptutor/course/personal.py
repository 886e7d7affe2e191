"""Per-student randomness: the numbers in questions, the seeds of runs, and the variant of a page.

Everything derives from an identity: in a graded course from the course's code and the student's name there,
otherwise from the student's journal. With both, a teacher can recompute which numbers a student was given.
"""

from __future__ import annotations

import hashlib
import hmac

SEEDS = 2**32
"""Run seeds are in [0, SEEDS)."""
DRAWS_AGAIN = 10
"""Attempts to draw different numbers when a question is asked again."""


def identity(course: str, student: str) -> str:
    """Return the hexadecimal identity of a student in the course with that code."""
    return hmac.new(course.encode(), student.encode(), hashlib.sha256).hexdigest()


def question_seed(identity: str, module: str, step: str, activity: str, attempts: int, again: int = 0) -> str:
    """Return the seed of a question's numbers after `attempts` attempts.

    `again` counts from 1 when the question is asked again and the numbers have to differ.
    """
    asked = [identity, module, step, activity, str(attempts)]
    return "/".join([*asked, "again", str(again)] if again else asked)


def run_seed(identity: str, module: str, step: str) -> int:
    """Return the seed of a page's first run; each complete run after it uses the next seed."""
    text = "/".join([identity, module, step, "run"])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def variant(identity: str, module: str, step: str, count: int) -> int:
    """Return the index of the student's variant among `count`."""
    text = "/".join([identity, module, step, "variant"])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % count
