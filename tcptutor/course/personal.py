"""What is a student's own: the numbers of the questions, the seeds of the runs, and which variant of a page.

All of it follows from an identity: in a course that grades, from the course's code and what the course calls the
student; else from the student's journal. So whoever knows both can tell which numbers a student was given.
"""

from __future__ import annotations

import hashlib
import hmac

SEEDS = 2**32
"""Seeds of runs are from 0 to below it."""
DRAWS_AGAIN = 10
"""Draws that are tried for numbers which differ, where a question is asked once more."""


def identity(course: str, student: str) -> str:
    """Of a student in the course of that code, in hexadecimal."""
    return hmac.new(course.encode(), student.encode(), hashlib.sha256).hexdigest()


def question_seed(identity: str, module: str, step: str, activity: str, attempts: int, again: int = 0) -> str:
    """By which a question's numbers are drawn after so many `attempts`; `again` counts from 1 where it is asked once
    more with numbers that have to differ.
    """
    asked = [identity, module, step, activity, str(attempts)]
    return "/".join([*asked, "again", str(again)] if again else asked)


def run_seed(identity: str, module: str, step: str) -> int:
    """Of the random numbers of a page's first run; each whole run after it has the next one."""
    text = "/".join([identity, module, step, "run"])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def variant(identity: str, module: str, step: str, count: int) -> int:
    """Which of `count` variants of a page, from 0."""
    text = "/".join([identity, module, step, "variant"])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % count
