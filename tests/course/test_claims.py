"""What a page may claim of runs, what is refused, and what a run says of it."""

from __future__ import annotations

import re

import pytest

from tcptutor.authoring.claims import claim_run, judge, seeds
from tcptutor.authoring.lint import lint
from tcptutor.authoring.page_claims import page_claims
from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.course import load
from tcptutor.course.claim import KNOWN_SUBJECTS, MEASURED_SUBJECTS, Claim, PageSetup
from tcptutor.course.experiments import Catalogue
from tcptutor.course.formulas import KNOWN
from tcptutor.course.measurements import MEASURED, MeasuredRun
from tcptutor.course.outline import pages
from tcptutor.run import load as load_run
from tcptutor.spec import Experiment

from .conftest import STEP, Edit, module_of, only, page

WINDOWS = page("eight-small-windows")
NO_RUN = page("up-to-the-knee")
CATALOGUE = Catalogue(places.lessons())
RUNS = {
    name: MeasuredRun(load_run(places.assets() / f"recorded/parallel-streams/{name}.tcprun"))
    for name in ("one-small-window", "eight-small-windows", "four-lossy-flows")
}
EIGHT = PageSetup("parallel-streams/small-window", {"streams": 8, "duration": "7 s", "warmup": "2 s"})


def recorded(experiment: Experiment) -> MeasuredRun:
    return next(run for run in RUNS.values() if run.run.experiment == experiment)


def asked(run: str, **keys: object) -> bool:
    """Whether a recorded run agrees with a claim of it."""
    claim = Claim(text=str(keys.pop("text", "")), **keys)  # type: ignore[arg-type]
    found = judge(
        claim, claim_run(claim, "m", EIGHT, lambda *_: RUNS[run].run.experiment), lambda _: RUNS[run]
    )
    return found.agrees


CLAIM = '[[claim]]\ntext = "The price"\n'
REFUSED = {
    "a subject misspelt": (
        'quantity = "thruput"',
        "claim[1].quantity: 'thruput' is not known here: did you mean throughput?",
    ),
    "no such subject": ('quantity = "speed"', "claim[1].quantity: 'speed' is not one of mathis, link"),
    "no value": ('quantity = "rtt"', "claim[1].value: 'The price' is not a number"),
    "no such tolerance": (
        'quantity = "rtt"\nvalue = "1 ms"\ntolerance = "3"',
        "claim[1].tolerance: '3' has no unit",
    ),
    "a tolerance of a bound": (
        'quantity = "rtt"\nvalue = "1 ms"\nrelation = "above"\ntolerance = "3 %"',
        "claim[1].tolerance: has no effect with 'above'",
    ),
    "no such setting": (
        'quantity = "rtt"\nvalue = "1 ms"\nset = { speed = 1 }',
        "claim[1].set: no parameter 'speed'",
    ),
    "no such experiment": ('quantity = "rtt"\nvalue = "1 ms"\nexperiment = "small-windows"', "did you mean"),
    "no such experiment to compare with": (
        'quantity = "rtt"\nvalue = "1"\nratio_to = { experiment = "none" }',
        "claim[1].set: no experiment 'parallel-streams/none'",
    ),
    "no such flow": (
        'quantity = "rtt"\nvalue = "1 ms"\nflow = 9',
        "claim[1].flow: the experiment has only 8",
    ),
    "flow zero": ('quantity = "rtt"\nvalue = "1 ms"\nflow = 0', "claim[1].flow: 0 is out of bounds"),
    "of all flows only": (
        'quantity = "jain"\nvalue = "1"\nflow = 1',
        "claim[1].flow: jain is not defined for a single flow",
    ),
    "share of whom": ('quantity = "share"\nvalue = "10 %"', "claim[1].flow: is missing"),
    "after the end": (
        'quantity = "rtt"\nvalue = "1 ms"\nend = "20 s"',
        "claim[1].end: 20 s is after the run's end at 9 s",
    ),
    "no time at all": (
        'quantity = "rtt"\nvalue = "1 ms"\nstart = "3 s"\nend = "3 s"',
        "claim[1].end: 3 s is not after the start at 3 s",
    ),
    "an instant has no part": (
        'quantity = "first-loss"\nvalue = "1 s"\nstart = "3 s"',
        "claim[1].start: first-loss is not",
    ),
    "no such cause": (
        'quantity = "limited-by"\nvalue = "loss"',
        "claim[1].value: 'loss' is not a cause: choose from appl",
    ),
    "a cause has no bound": (
        'quantity = "limited-by"\nvalue = "bottleneck"\nrelation = "above"',
        "claim[1].quantity: a cause can only be equal",
    ),
    "a ratio with a unit": (
        'quantity = "rtt"\nvalue = "2 ms"\nratio_to = { flow = 1 }',
        "claim[1].value: '2 ms' has a unit",
    ),
    "nothing to work out": ('quantity = "arithmetic"\nvalue = "2 ms"', "claim[1].formula: is required with"),
    "what cannot be worked out": (
        'quantity = "arithmetic"\nvalue = "2 ms"\nformula = "2 ms * x"',
        "claim[1].formula:",
    ),
    "wrongly worked out": (
        'quantity = "arithmetic"\nvalue = "2 ms"\nformula = "1.5 ms * 2"',
        "claim[1]: 'The price': the formula gives 3 ms",
    ),
    "too many seeds": (
        'quantity = "rtt"\nvalue = "1 ms"\nseeds = 0',
        "claim[1].seeds: 0 is out of bounds: 1 to 20",
    ),
    "another formula": (
        'quantity = "bdp"\nvalue = "200 MB"',
        "claim[1]: 'The price': the formula gives 200 kB",
    ),
    "a formula that does not apply": ('quantity = "mathis"\nvalue = "1 Mbit/s"', "needs a loss"),
}


@pytest.mark.parametrize(("keys", "said"), REFUSED.values(), ids=REFUSED)
def test_a_claim_that_cannot_be_judged_is_refused(edit: Edit, keys: str, said: str) -> None:
    found = lint(only(edit(WINDOWS, "[[claim]]\n", f"{CLAIM}{keys}\n\n[[claim]]\n"), WINDOWS))
    assert any(line.startswith(f"lessons/{WINDOWS}: ") and said in line for line in found), found


def test_every_subject_is_known_or_measured() -> None:
    assert set(KNOWN) | {"arithmetic", "published"} == KNOWN_SUBJECTS
    assert set(MEASURED) | {"limited-by"} == MEASURED_SUBJECTS


def test_a_claim_on_a_page_without_a_run_names_an_experiment(edit: Edit) -> None:
    claim = '[[claim]]\ntext = "move up to the knee"\nquantity = "link"\nvalue = "38.3 Mbit/s"\n'
    root = edit(NO_RUN, "[[question]]", f"{claim}\n[[question]]")
    assert any("claim[1].experiment: this page runs nothing" in line for line in lint(only(root, NO_RUN)))
    edit(NO_RUN, claim, f'{claim}experiment = "small-window"\n')
    assert [line for line in lint(root) if NO_RUN in line] == []


UNCLAIMED = {
    "in after": ("The link is about 90", "It took 7 ms. The link is about 90", "after_run: '7 ms' has no"),
    "a count": (
        "The link is about 90",
        "It lost 70 segments. The link is about 90",
        "after_run: '70 segments' has no",
    ),
    "a ratio": ("The link is about 90", "It is 7 times. The link is about 90", "after_run: '7 times' has no"),
    "in an explanation": (
        'explanation = "RTT',
        'explanation = "It took 7 ms. RTT',
        "explanation: '7 ms' has no",
    ),
    "in feedback": (
        'feedback = "The rate',
        'feedback = "7 ms: the rate',
        "choice[2].feedback: '7 ms' has no",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), UNCLAIMED.values(), ids=UNCLAIMED)
def test_a_number_about_the_run_needs_a_claim(edit: Edit, old: str, new: str, said: str) -> None:
    found = lint(only(edit(STEP, old, new), STEP))
    assert any(said in line for line in found), found


def test_settings_and_figures_of_a_document_need_no_claim(edit: Edit) -> None:
    settings = "A link of 100 Mbit/s. Frames of 1514 bytes. The 5 s of warm-up."
    edit(STEP, "The link is about 90", f"{settings} The link is about 90")
    root = edit(STEP, "got 7.56 Gbit/s", "got 7.56 Gbit/s, with 64,491 retransmissions")
    assert [line for line in lint(only(root, STEP)) if "claim" in line] == []


def test_a_ratio_is_to_the_same_figure_of_another_run() -> None:
    steps = {step.id: step for step in module_of(load()).steps}
    one = next(each for each in steps["eight-small-windows"].claims if each.ratio_to)
    compared = claim_run(one, "parallel-streams", EIGHT, CATALOGUE.build)
    assert [each.total_streams for each in compared if each] == [8, 1]
    assert judge(one, compared, recorded).value == pytest.approx(2.88, abs=0.01)


@pytest.mark.parametrize(
    ("run", "keys", "agrees"),
    [
        ("eight-small-windows", {"quantity": "limited-by", "value": "bottleneck"}, True),
        ("one-small-window", {"quantity": "limited-by", "value": "bottleneck"}, False),
        ("one-small-window", {"quantity": "limited-by", "value": "receive-window", "start": "5 s"}, True),
        ("eight-small-windows", {"quantity": "max-rtt", "value": "60 ms", "relation": "above"}, True),
        ("eight-small-windows", {"quantity": "max-rtt", "value": "60 ms", "relation": "below"}, False),
        ("one-small-window", {"quantity": "losses", "value": "0"}, True),
        ("eight-small-windows", {"quantity": "losses", "value": "0"}, False),
        (
            "eight-small-windows",
            {"quantity": "share", "value": "13.6 %", "tolerance": "2 %", "flow": 2},
            True,
        ),
        ("eight-small-windows", {"quantity": "throughput", "value": "38.2 Mbit/s"}, True),
        ("eight-small-windows", {"quantity": "throughput", "value": "38.0 Mbit/s", "flow": 1}, False),
        ("eight-small-windows", {"quantity": "first-loss", "value": "0.2 s", "tolerance": "0.1 s"}, True),
        ("one-small-window", {"quantity": "first-loss", "value": "0.3 s"}, False),
        ("eight-small-windows", {"quantity": "jain", "value": "0.966", "tolerance": "1 %"}, True),
        ("one-small-window", {"quantity": "udp-loss", "value": "0 %"}, False),
        ("one-small-window", {"quantity": "rwnd-limited", "value": "90 %", "relation": "above"}, True),
        ("eight-small-windows", {"quantity": "rwnd-limited", "value": "90 %", "relation": "above"}, False),
        ("one-small-window", {"quantity": "sndbuf-limited", "value": "1 %", "relation": "below"}, True),
        ("one-small-window", {"quantity": "app-limited", "value": "1 %", "relation": "below"}, True),
        ("one-small-window", {"quantity": "max-flight", "value": "64 KiB", "tolerance": "3 %"}, True),
    ],
)
def test_a_run_confirms_or_refutes_a_claim(run: str, keys: dict[str, object], agrees: bool) -> None:
    assert asked(run, **keys) is agrees


@pytest.mark.parametrize(
    ("value", "agrees"),
    [("13 Mbit/s", True), ("13.2 Mbit/s", True), ("13.1 Mbit/s", False), ("12 Mbit/s", False)],
)
def test_by_default_a_number_may_be_rounded_as_it_is_written(value: str, agrees: bool) -> None:
    claim = Claim(text=value, quantity="window")
    compared = claim_run(claim, "m", PageSetup("parallel-streams/small-window", {}), CATALOGUE.build)
    assert judge(claim, compared, recorded).agrees is agrees


def test_each_seed_is_another_run() -> None:
    claim = Claim(text="", quantity="rtt", seeds=3)
    found = {}
    for name in ("random-loss", "small-window"):
        first = claim_run(
            claim, "parallel-streams", PageSetup(f"parallel-streams/{name}", {}), CATALOGUE.build
        )
        found[name] = [each.of for each in seeds(claim, first) if each.of]
        assert [each.seed for each in found[name]] == [1, 2, 3]
    # Without random numbers a seed changes nothing, so the path does: by less than any page tells.
    assert [each.path.delay for each in found["random-loss"]] == [0.05, 0.05, 0.05]
    assert [each.path.delay for each in found["small-window"]] == pytest.approx([0.04, 0.04002, 0.04004])


def test_a_sweep_value_brings_its_dependent_settings() -> None:
    columns = {"streams": (1, 2), "queue": ("1 BDP", "2 BDP")}
    page = PageSetup("parallel-streams/small-window", {"duration": "5 s"}, columns)
    claim = Claim(text="", quantity="rtt", set={"streams": 2})
    of = claim_run(claim, "parallel-streams", page, CATALOGUE.build).of
    assert of is not None
    assert (of.flows.streams, of.path.queue, of.flows.duration) == (2, 400_000, 5)


def test_the_pages_that_are_meant() -> None:
    root = places.lessons()
    number = module_of(load()).step_ids.index("eight-small-windows") + 1
    chosen = pages(root, f"parallel-streams/{number}")
    assert [step.id for module in chosen.modules for step in module.steps] == ["eight-small-windows"]
    assert chosen == pages(root, "parallel-streams/eight-small-windows")
    with pytest.raises(UsageError, match=r"no page 'eight-windows': did you mean eight-small-windows\?"):
        pages(root, "parallel-streams/eight-windows")


def test_a_claim_tells_where_it_stands() -> None:
    root = places.lessons()
    for each in page_claims(root, pages(root)):
        lines = (root.parent / each.file).read_text(encoding="utf-8").split("\n")
        assert lines[each.line - 1] == "[[claim]]"
        written = re.sub(r"\\\{variant\\\.[a-z-]+\\\}", ".+", re.escape(lines[each.line]))
        written = re.sub(r"\\\[.*?\\\]\\\(.*?\\\)", ".+", written)  # a page reference
        text = each.claim.text.replace("\n", "\\n")
        assert re.fullmatch(written, f'text = "{text}"')
