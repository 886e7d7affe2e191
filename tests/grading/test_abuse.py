"""Ways to gain marks without the work, and what becomes of each when a hand-in is graded without repeating its runs.

Who writes a hand-in owns the computer that it comes from, and can write a journal anew from its first event: where only
that helps, `PASSES` says so, and so does assets/documentation/grading.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tcptutor.course import personal
from tcptutor.course.activity import text_id
from tcptutor.course.page_record import Response
from tcptutor.grading.evidence.hand_in import HandInManifest, open_hand_in, write_hand_in
from tcptutor.grading.evidence.timeline import timeline
from tcptutor.grading.grade import Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.journal.events import (
    Enrolled,
    Hinted,
    JournalEvent,
    Responded,
    RunEnded,
    RunStarted,
    StoredEvent,
    chain,
    decode,
    link,
)
from tcptutor.run import Fidelity, Run, SampleTable, load, save
from tcptutor.run.results import flow_spans, until
from tests import patience
from tests.grading.evidence.student import KEY, RUNS, Student, course, handed_in

Events = list[JournalEvent]


class Forger:
    """An honest hand-in, taken apart so that something else can be put together."""

    def __init__(self, file: Path, folder: Path) -> None:
        self.folder = folder
        with open_hand_in(file) as hand_in:
            self.manifest: HandInManifest = hand_in.manifest
            self.stored: list[StoredEvent] = list(hand_in.events)
            self.runs = {id: hand_in.run(id)[0] for id in hand_in.run_ids}
        self._source = file

    @property
    def events(self) -> Events:
        return [event for stored in self.stored if (event := decode(stored.data)) is not None]

    def run(self, name: str = "small/lossy") -> Run:
        """The latest of that experiment; of the second page by default."""
        return next(run for run in reversed(self.runs.values()) if run.experiment.name == name)

    def file(
        self,
        run: Run | None = None,
        events: Events | None = None,
        *,
        stored: list[StoredEvent] | None = None,
        digest: bool = False,
    ) -> Path:
        """A hand-in of that run and those events, chained anew. `digest`: the journal is told of the run's new file."""
        found = list(events) if events is not None else self.events
        if digest:
            found = [
                msgspec.structs.replace(event, digest="") if isinstance(event, RunEnded) else event
                for event in found
            ]
        chained = stored if stored is not None else list(chain(found))
        target = self.folder / "forged.tcphandin"
        manifest = msgspec.structs.replace(self.manifest, events=len(chained))
        ours = run or self.run()
        kept = {id: each for id, each in self.runs.items() if each.experiment.name != ours.experiment.name}
        runs = [(each.id, self.saved(each)) for each in (*kept.values(), ours)]
        write_hand_in(target, manifest, chained, runs)
        return target

    def saved(self, run: Run) -> Path:
        """A file of its own for it."""
        path = self.folder / f"forged-{len(list(self.folder.iterdir()))}.tcprun"
        save(run, path)
        return path


def _grade(file: Path) -> Grade:
    with open_hand_in(file) as hand_in:
        return grade_hand_in(hand_in, course(), KEY.code)


def _outcome(found: Grade, activity: str) -> tuple[str, str]:
    mark = next(mark for mark in found.marks if mark.activity == activity)
    return mark.outcome, mark.reason


@pytest.fixture
def forger(tmp_path: Path) -> Forger:
    return Forger(handed_in("ada", tmp_path / "ada"), tmp_path)


def _scaled(run: Run, names: tuple[str, ...], factor: float) -> Run:
    rows = [
        msgspec.structs.replace(
            row, **{name: type(getattr(row, name))(getattr(row, name) * factor) for name in names}
        )
        for row in run.samples
    ]
    run.samples = SampleTable(rows)
    return run


# Runs


def _samples(forger: Forger) -> Path:
    return forger.file(_scaled(forger.run(), ("bytes_acked",), 2))


def _samples_and_digest(forger: Forger) -> Path:
    return forger.file(_scaled(forger.run(), ("bytes_acked", "bytes_received", "delivered"), 2), digest=True)


def _figures(forger: Forger) -> Path:
    run = forger.run()
    run.flows = [msgspec.structs.replace(flow, throughput_bps=9e6) for flow in run.flows]
    return forger.file(run, digest=True)


def _lossless(forger: Forger) -> Path:
    """The loss was left out, and the settings say that it was there."""
    run = _scaled(forger.run(), ("retransmits", "bytes_retrans"), 0)
    run.flows = [msgspec.structs.replace(flow, retransmits=0) for flow in run.flows]
    return forger.file(run, digest=True)


def _short_path(forger: Forger) -> Path:
    run = _scaled(forger.run(), ("min_rtt",), 0.5)
    return forger.file(run, digest=True)


def _counters_back(forger: Forger) -> Path:
    run = forger.run()
    rows = list(run.samples)
    rows[20] = msgspec.structs.replace(rows[20], busy=rows[10].busy / 2)
    run.samples = SampleTable(rows)
    return forger.file(run, digest=True)


def _at_one_time(forger: Forger) -> Path:
    run = forger.run()
    run.samples = SampleTable([msgspec.structs.replace(row, t=1.0) for row in run.samples])
    return forger.file(run, digest=True)


def _too_much(forger: Forger) -> Path:
    run = forger.run()
    rows = list(run.queue)
    rows[-1] = msgspec.structs.replace(rows[-1], sent=rows[-1].sent * 10)
    run.queue = type(run.queue)(rows)
    return forger.file(run, digest=True)


def _settings(forger: Forger) -> Path:
    """Run with a loss that makes it easy."""
    run = forger.run()
    path = msgspec.structs.replace(run.experiment.path, loss=0.0)
    run.experiment = msgspec.structs.replace(run.experiment, path=path)
    return forger.file(run, digest=True)


def _recording(forger: Forger) -> Path:
    run = forger.run()
    run.environment = msgspec.structs.replace(run.environment, backend="replay")
    return forger.file(run, digest=True)


def _thinned(forger: Forger) -> Path:
    """As recordings are: every fifth sample, with the figures that these give."""
    run = forger.run()
    run.samples = SampleTable(list(run.samples)[::5])
    run.queue = type(run.queue)(list(run.queue)[::5])
    (span,) = flow_spans([(0, 0)], until(run.samples, run.experiment_s), run.experiment)
    run.flows = [span.result]
    return forger.file(run, digest=True)


def _cut_short(forger: Forger) -> Path:
    run = forger.run()
    run.complete = False
    return forger.file(run, digest=True)


def _others_run(forger: Forger) -> Path:
    """Bob's run, entered in Ada's journal."""
    bobs = load(RUNS / "bob.tcprun")
    return forger.file(bobs, _with_run(forger.events, bobs), digest=True)


def _others_run_renamed(forger: Forger) -> Path:
    """The same, under the id of Ada's and with her seed in the journal alone."""
    bobs, own = load(RUNS / "bob.tcprun"), forger.run()
    bobs.id, bobs.started = own.id, own.started
    return forger.file(bobs, digest=True)


def _with_run(events: Events, run: Run) -> Events:
    ran = {event.run for event in events if isinstance(event, RunStarted) and event.step == "ran"}

    def changed(event: JournalEvent) -> JournalEvent:
        match event:
            case RunStarted() if event.run in ran:
                return msgspec.structs.replace(
                    event, at=run.started, run=run.id, seed=run.experiment.seed, file=f"{run.id}.tcprun"
                )
            case RunEnded() if event.run in ran:
                return msgspec.structs.replace(event, run=run.id, file=f"{run.id}.tcprun", digest="")
        return event

    return [changed(event) for event in events]


def _slow_run_in_no_time(forger: Forger) -> Path:
    """It says that it took an hour, between two events of the same second."""
    run = forger.run()
    run.wall_s = 1e9
    return forger.file(run, digest=True)


def _of_another_page(forger: Forger) -> Path:
    run = forger.run()
    run.experiment = msgspec.structs.replace(run.experiment, name="small/another")
    return forger.file(run, digest=True)


REFUSED_RUNS: dict[Callable[[Forger], Path], str] = {
    _samples: "was changed after the run",
    _samples_and_digest: "is not what its samples give",
    _figures: "its throughput is not what its samples give",
    _lossless: "its sender was in recovery, but retransmitted nothing",
    _short_path: "its smallest RTT is 10 ms on a path of 20 ms",
    _counters_back: "its busy decrease",
    _at_one_time: "two of its samples have the same time, 1 s",
    _too_much: "were carried, more than the",
    _settings: "the run has other settings than the page's",
    _recording: "is a replayed recording, .*: set up the lab with `tcptutor setup`",
    _thinned: "its samples are 50 ms apart, and the lab takes one in 10",
    _cut_short: "was cut short",
    _others_run: "has the seed .*, which is not this student's",
    _others_run_renamed: "is not what the journal says was begun",
    _slow_run_in_no_time: "took 1000000000 s, and the journal has",
    _of_another_page: "is not what the journal says was begun",
}


@pytest.mark.parametrize("forge", REFUSED_RUNS, ids=lambda forge: forge.__name__.strip("_"))
def test_a_run_that_is_not_so_is_refused(forge: Callable[[Forger], Path], forger: Forger) -> None:
    found = _grade(forge(forger))
    outcome, reason = _outcome(found, "experiment")
    assert outcome == "refused"
    assert re.search(REFUSED_RUNS[forge], reason), reason
    # What does not come from the run stays.
    assert _outcome(found, "which")[0] == "full"


# Sweeps and challenges: several runs of one experiment


def _replaced(forger: Forger, at: int, change: Callable[[Run], None]) -> Grade:
    """With the run of the sweep or the challenge that was made as number `at`, changed."""
    runs = [run for run in forger.runs.values() if run.experiment.name == "small/windowed"]
    order = [event.run for event in forger.events if isinstance(event, RunStarted) and event.step != "ran"]
    run = next(each for each in runs if each.id == order[at])
    change(run)
    target = forger.folder / "forged.tcphandin"
    events = [
        msgspec.structs.replace(event, digest="") if isinstance(event, RunEnded) else event
        for event in forger.events
    ]
    content = [(each.id, forger.saved(each)) for each in forger.runs.values()]
    write_hand_in(target, forger.manifest, list(chain(events)), content)
    return _grade(target)


def _window(run: Run, window: int) -> None:
    hosts = msgspec.structs.replace(run.experiment.hosts, window=window)
    run.experiment = msgspec.structs.replace(run.experiment, hosts=hosts)


def _no_delay(run: Run) -> None:
    """Something that no knob gives."""
    path = msgspec.structs.replace(run.experiment.path, delay=0.005)
    run.experiment = msgspec.structs.replace(run.experiment, path=path)


def test_a_run_of_another_value_is_missing_in_a_sweep(forger: Forger) -> None:
    found = _replaced(forger, 0, lambda run: _window(run, 12_000))
    assert _outcome(found, "sweep") == (
        "part",
        "1 of its 2 runs is missing: the run has other settings than the page's",
    )
    assert next(mark.marks for mark in found.marks if mark.activity == "sweep") == 1


def test_one_run_is_not_two_of_a_sweep(forger: Forger) -> None:
    """The run of the second value, once more in the place of the first."""
    found = _replaced(forger, 0, lambda run: _window(run, 25_000))
    assert _outcome(found, "sweep")[0] == "part"


def test_a_challenge_is_judged_by_its_run_and_not_by_what_it_says(forger: Forger) -> None:
    found = _replaced(forger, 3, lambda run: _window(run, 100_000))
    assert _outcome(found, "challenge") == (
        "refused",
        "the latest run had other settings: press r to run it with these",
    )


def test_a_challenge_with_what_no_knob_gives_is_refused(forger: Forger) -> None:
    found = _replaced(forger, 3, _no_delay)
    assert _outcome(found, "challenge") == ("refused", "the run has other settings than its knobs give")


def test_a_challenge_that_calls_itself_reached_is_judged_anew(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.turns(load(RUNS / "ada-turned-start.tcprun"))

    forger = Forger(handed_in("ada", tmp_path / "ada", do), tmp_path)
    events = [
        msgspec.structs.replace(event, response=msgspec.structs.replace(event.response, correct=True))
        if isinstance(event, Responded)
        else event
        for event in forger.events
    ]
    target = tmp_path / "forged.tcphandin"
    runs = [(id, forger.saved(run)) for id, run in forger.runs.items()]
    write_hand_in(target, forger.manifest, list(chain(events)), runs)
    found = _grade(target)
    assert _outcome(found, "challenge") == ("none", "1 of 2 to go.")


# Journals


def test_an_event_that_was_edited_ends_what_counts(forger: Forger) -> None:
    place = next(at for at, stored in enumerate(forger.stored) if b'"which"' in stored.data)
    forger.stored[place] = forger.stored[place]._replace(
        data=forger.stored[place].data.replace(text_id("cwnd").encode(), text_id("RTT").encode())
    )
    found = _grade(forger.file(stored=forger.stored))
    assert found.total == 0
    assert f"event {place + 1} is not as it was written" in found.remarks[0].text


def test_an_event_that_was_taken_out_ends_what_counts(forger: Forger) -> None:
    del forger.stored[3]
    found = _grade(forger.file(stored=forger.stored))
    assert "is not as it was written, or one before it is missing" in found.remarks[0].text
    assert found.total < 19


def test_a_wrong_answer_that_calls_itself_right_is_marked_as_wrong(forger: Forger) -> None:
    def lie(event: JournalEvent) -> JournalEvent:
        if isinstance(event, Responded) and event.activity == "which":
            return msgspec.structs.replace(
                event, response=msgspec.structs.replace(event.response, answer=(text_id("RTT"),))
            )
        return event

    found = _grade(forger.file(events=[lie(event) for event in forger.events]))
    assert _outcome(found, "which") == ("none", "the answer is wrong")


@pytest.mark.parametrize("draw", [{"rate": "8 Mbit/s", "trip": "20 ms"}, {}])
def test_numbers_that_were_not_drawn_for_the_student_are_refused(
    draw: dict[str, str], forger: Forger
) -> None:
    def choose(event: JournalEvent) -> JournalEvent:
        if isinstance(event, Responded) and event.activity == "how-much":
            response = msgspec.structs.replace(event.response, draw=draw, answer="20 kB")
            return msgspec.structs.replace(event, response=response)
        return event

    found = _grade(forger.file(events=[choose(event) for event in forger.events]))
    assert _outcome(found, "how-much") == (
        "refused",
        "the question's numbers were not drawn for this student",
    )


def test_numbers_of_one_s_own_are_refused_on_every_attempt(forger: Forger) -> None:
    def choose(event: JournalEvent) -> Events:
        if not isinstance(event, Responded) or event.activity != "how-much":
            return [event]
        draw = {"rate": "8 Mbit/s", "trip": "20 ms"}
        return [
            msgspec.structs.replace(event, response=Response(answer, answer == "20 kB", draw=draw))
            for answer in ("1 kB", "20 kB")
        ]

    found = _grade(forger.file(events=[each for event in forger.events for each in choose(event)]))
    assert _outcome(found, "how-much") == (
        "refused",
        "the question's numbers were not drawn for this student",
    )


def test_an_answer_of_another_student_is_to_other_numbers(tmp_path: Path) -> None:
    drawn = {}
    for name in ("ada", "bob"):
        with open_hand_in(handed_in(name, tmp_path / name)) as hand_in:
            page = timeline(hand_in.events).page("small", "asked")
        drawn[name] = page.responses_to("how-much")[0].response
    assert drawn["ada"].draw != drawn["bob"].draw
    assert drawn["ada"].answer != drawn["bob"].answer


def test_a_prediction_after_the_run_is_refused(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.runs()
        one.answer(2, "predict", "1.9 Mbit/s")

    outcome, reason = _outcome(_grade(handed_in("ada", tmp_path, do)), "predict")
    assert outcome == "refused"
    assert reason.endswith("was begun before it")


def test_an_answer_about_a_run_that_was_not_made_is_refused(forger: Forger) -> None:
    events = [event for event in forger.events if not isinstance(event, RunStarted | RunEnded)]
    found = _grade(forger.file(events=events))
    assert _outcome(found, "after") == ("refused", "it was answered before the run it is about")
    assert _outcome(found, "largest")[0] == "refused"
    assert _outcome(found, "experiment")[0] == "missing"


def test_trying_all_answers_costs_more_than_it_gives(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        for choice in ((2,), (1,), (0,)):
            one.answer(1, "which", choice)

    found = _grade(handed_in("ada", tmp_path, do))
    # By chance one of three is right at once: 2/3, then 1/3 + 1/6 for those who go on.
    assert next(mark.marks for mark in found.marks if mark.activity == "which") == 0.5


def test_a_clock_that_was_set_back_is_told(forger: Forger) -> None:
    events = [
        msgspec.structs.replace(event, at="2020-01-01T00:00:00.000+00:00")
        if isinstance(event, Responded) and event.activity == "after"
        else event
        for event in forger.events
    ]
    assert "the clock was put back by" in _grade(forger.file(events=events)).remarks[0].text


def test_another_students_file_is_that_students(forger: Forger) -> None:
    """Whoever hands it in: the journal says whose it is, the description of the file does not."""
    forger.manifest = msgspec.structs.replace(forger.manifest, student="bob")
    assert _grade(forger.file()).student == "ada"


@pytest.mark.parametrize(("wrong", "own"), [("ada", "bob"), ("bob", "ada")])
def test_runs_after_a_corrected_enrolment_are_graded(tmp_path: Path, wrong: str, own: str) -> None:
    def do(one: Student) -> None:
        one.answer(2, "predict", "2 Mbit/s")
        one.runs()  # as `wrong`
        one.journal.enrol(own, KEY.code)
        run = load(RUNS / f"{own}.tcprun")
        assert one.page(2).run_seeds(run.experiment.seed + 5).next == run.experiment.seed
        one.runs(run)
        following = one.page(2).run_seeds(run.experiment.seed + 5).next
        assert following == (run.experiment.seed + 1) % personal.SEEDS
        one.answer(2, "largest")
        one.answer(2, "after")

    found = _grade(handed_in(wrong, tmp_path, do))
    assert found.student == own
    assert [_outcome(found, activity)[0] for activity in ("experiment", "largest")] == ["full", "full"]


def test_events_of_no_kind_change_nothing_and_are_told(forger: Forger) -> None:
    data = b'{"kind":"marked","at":"2026-01-01T00:00:00+00:00","marks":1000}'
    last = forger.stored[-1]
    forger.stored.append(StoredEvent(last.serial + 1, data, link(last.hash, data)))
    found = _grade(forger.file(stored=forger.stored))
    assert found.total == 19
    assert (*map(str, found.remarks),) == ("1 of its events are of a newer tcptutor, or invalid",)


def test_runs_until_a_seed_is_kind_are_within_the_students_own(forger: Forger) -> None:
    """A seed far from the student's own is refused, one after as many runs as it says is not."""
    own = personal.run_seed(personal.identity(KEY.code, "ada"), "small", "ran")
    assert forger.run().experiment.seed == own
    run = forger.run()
    run.experiment = msgspec.structs.replace(run.experiment, seed=own + 1)
    found = _grade(forger.file(run, _with_run(forger.events, run), digest=True))
    assert _outcome(found, "experiment")[0] == "refused"


def test_a_journal_of_very_many_events_takes_nobodys_time(tmp_path: Path) -> None:
    """Whatever grows with the square of them would take minutes."""
    at = "2026-01-01T00:00:00.000+00:00"
    events: Events = []
    for number in range(5_000):
        run = f"r{number}"
        events += [
            Enrolled(at, f"a{number}", KEY.code),
            Responded(at, "small", "asked", "how-much", Response("1 kB", False, draw={"rate": run})),
            Hinted(at, "small", "asked", "how-much", 1),
            RunStarted(at, "small", "ran", run, "small/lossy", f"{run}.tcprun"),
            RunEnded(at, run, True, "", f"{run}.tcprun"),
            Responded(at, "small", "ran", "largest", Response("10", True)),
            Responded(at, "small", "turned", "challenge", Response("window = 10 kB", True, value=1.0)),
        ]
    path = tmp_path / "many.tcphandin"
    write_hand_in(path, HandInManifest(tcptutor="1", made="", events=len(events)), list(chain(events)), [])
    deadline = patience.Deadline(2.5)
    found = _grade(path)
    assert deadline.left
    assert found.total == 0
    assert max(len(remark.text) for remark in found.remarks) < 1000


# What only a repetition of the run finds


def _fidelity(forger: Forger) -> Path:
    run = forger.run()
    run.fidelity = Fidelity(status="valid")
    return forger.file(run, digest=True)


def _reseeded(forger: Forger) -> Path:
    """Bob's run with Ada's seed written into it."""
    bobs, own = load(RUNS / "bob.tcprun"), forger.run()
    bobs.id, bobs.started, bobs.experiment = own.id, own.started, own.experiment
    return forger.file(bobs, digest=True)


PASSES = (_fidelity, _reseeded)


@pytest.mark.parametrize("forge", PASSES, ids=lambda forge: forge.__name__.strip("_"))
def test_a_run_that_could_be_passes_where_it_is_not_repeated(
    forge: Callable[[Forger], Path], forger: Forger
) -> None:
    assert _outcome(_grade(forge(forger)), "experiment")[0] == "full"
