"""What other systems say of the files that they take, as checks.

Each raises AssertionError for a document that its system would not take as it is meant; `test_formats` asks them of
samples that the systems publish too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

VISIBILITIES = ("hidden", "after_due_date", "after_published", "visible")
_FORMATS = ("text", "html", "simple_format", "md", "ansi")
_TIME = r"\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"


def _has(document: Any, needed: Mapping[str, type | tuple[type, ...]], more: Collection[str] = ()) -> None:
    """It is an object with these keys of these types, and maybe with `more`; none else."""
    assert isinstance(document, dict)
    assert set(needed) <= set(document) <= {*needed, *more}, sorted(document)
    for key, kind in needed.items():
        assert isinstance(document[key], kind) and (kind is bool or document[key] is not True), key


def gradescope(document: Any) -> None:
    """ "Output format" of https://gradescope-autograders.readthedocs.io/en/latest/specs/."""
    for one in (document, *document.get("tests", ())):
        for key, values in (
            ("visibility", VISIBILITIES),
            ("output_format", _FORMATS),
            ("name_format", _FORMATS),
        ):
            assert one.get(key, values[0]) in values
    top = "score execution_time output output_format test_output_format test_name_format visibility"
    _has(document, {}, [*top.split(), "stdout_visibility", "extra_data", "tests", "leaderboard"])
    assert document.get("stdout_visibility", "hidden") in VISIBILITIES
    assert isinstance(document.get("output", ""), str)
    test = "score max_score status name name_format number output output_format tags visibility extra_data"
    for one in document.get("tests", ()):
        _has(one, {}, test.split())
        assert one.get("status", "passed") in ("passed", "failed")
        assert "score" in document or "score" in one
        assert all(isinstance(one.get(key, 0), (int, float)) for key in ("score", "max_score"))
        assert all(isinstance(one.get(key, ""), str) for key in ("name", "number", "output"))
        assert all(isinstance(tag, str) for tag in one.get("tags", ()))


def prairielearn(document: Any) -> None:
    """ "Grading results" of https://prairielearn.readthedocs.io/en/latest/externalGrading/, and what
    `externalGraderCommon.ts` of PrairieLearn/PrairieLearn reads.
    """
    if document.get("gradable", True):
        assert isinstance(document["score"], (int, float)) and 0 <= document["score"] <= 1
    else:
        assert document["gradable"] is False
    errors = document.get("format_errors", [])
    assert isinstance(errors, str) or all(isinstance(each, str) for each in errors)
    for one in document.get("tests", ()):
        # Without both of any test the points of none are shown.
        assert isinstance(one["points"], (int, float)) and isinstance(one["max_points"], (int, float))
        assert all(isinstance(one.get(key, ""), str) for key in ("name", "description", "message", "output"))


def prairielearn_question(document: Any) -> None:
    """`infoQuestion.json` of PrairieLearn/PrairieLearn: what it requires, and what the options may be."""
    assert {"uuid", "title", "topic", "type"} <= set(document)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["uuid"])
    assert (document["type"], document["gradingMethod"]) == ("v3", "External")
    options = document["externalGradingOptions"]
    more = ("comment", "entrypoint", "serverFilesCourse", "timeout", "enableNetworking", "environment")
    _has(options, {"image": str}, more)
    assert isinstance(options.get("entrypoint", ""), (str, list))
    assert options.get("timeout", 30) <= 600


def classroom50(document: Any) -> None:
    """`schemas/result-v1.schema.json` of foundation50/classroom50, with the sums and bounds that it leaves to code."""
    texts = "schema classroom assignment assignment_type owner submission commit release review datetime"
    needed = dict.fromkeys(texts.split(), str) | {"score": int, "max-score": int, "tests": list}
    _has(document, needed, ["graded_at", "submitted_by"])
    assert all(document[key] for key in texts.split())
    assert document["schema"] == "classroom50/result/v1"
    assert document["assignment_type"] in ("individual", "group")
    assert document["submission"].startswith("submit/")
    for key in ("datetime", "graded_at"):
        assert re.fullmatch(_TIME, document.get(key, "1970-01-01T00:00:00Z"))
    for one in document["tests"]:
        row = {"test-name": str, "passed": bool, "score": int, "max-score": int}
        _has(one, row, set(one))
        assert one["test-name"]
    for one in (document, *document["tests"]):
        assert 0 <= one["score"] <= one["max-score"]
    for key in ("score", "max-score"):
        assert document[key] == sum(one[key] for one in document["tests"])
