"""What students read of the rules is what the scheme does."""

from __future__ import annotations

import re

import pytest

from tcptutor.course.marks import MarkScheme
from tcptutor.course.rules import activity_rule, deadline_rule, hint_cost, rules


@pytest.mark.parametrize(
    ("scheme", "rule"),
    [
        (MarkScheme(), "1 mark; each wrong try halves it; a hint takes a fifth"),
        (MarkScheme(question=2, retry=0, hint=1), "2 marks; only the first try counts"),
        (MarkScheme(question=0.5, retry=1, hint=0), "0.5 marks; a hint takes all"),
        (MarkScheme(retry=0.7, hint=0.7), "1 mark; each wrong try takes 30%; a hint takes 30%"),
        (MarkScheme(question=0), ""),
    ],
)
def test_the_costs_of_a_question(scheme: MarkScheme, rule: str) -> None:
    assert activity_rule(scheme, "question") == rule
    cost = scheme.question * (1 - scheme.remaining_share(0, 1, None))
    assert bool(hint_cost(scheme)) == (scheme.hint < 1)
    if scheme.question:
        assert bool(hint_cost(scheme)) == (cost > 0)


def test_only_what_can_cost_marks_is_said_to() -> None:
    assert activity_rule(MarkScheme(), "example") == ""
    assert not re.search("hint|try", activity_rule(MarkScheme(), "experiment"))
    assert "try" not in activity_rule(MarkScheme(), "predict")


def test_late_work() -> None:
    assert deadline_rule(MarkScheme()) == ""
    past, coming = "2020-01-31T23:59+00:00", "2999-01-31T23:59+00:00"
    assert deadline_rule(MarkScheme(deadline=past)).startswith("was due 31 January 2020")
    assert deadline_rule(MarkScheme(deadline=coming)).startswith("due 31 January 2999")
    assert "later work earns nothing" in deadline_rule(MarkScheme(deadline=coming))
    assert "later" not in deadline_rule(MarkScheme(deadline=coming, late=1))


def test_rules_name_every_kind_once() -> None:
    found = dict(rules(MarkScheme(sweep=0, path="essential", before_enrolling=0.5)))
    assert found["sweep"] == "no marks"
    assert found["pages"] == "only essential pages count"
    assert found["before enrolling"].endswith("earn half")
    assert "replayed recordings" in found["no marks"]
    assert "before enrolling" not in dict(rules(MarkScheme(before_enrolling=1)))
