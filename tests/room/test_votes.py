"""Votes: each voter counted once per round, results hidden until revealed, and nothing lost by a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tcptutor.base.errors import TutorError, UnitError, UsageError
from tcptutor.room.asked import AskedQuestion
from tcptutor.room.talk import Tally
from tcptutor.room.voters import UnknownVoter
from tcptutor.room.votes import MOST_CHANGES, Votes
from tests.room.made import CHOICES, NUMBERS, PREDICTION


@pytest.fixture
def open_votes(tmp_path: Path) -> Iterator[Callable[..., Votes]]:
    opened: list[Votes] = []

    def open_them(**options: Any) -> Votes:
        for each in opened:
            each.close_file()
        opened[:] = [Votes(tmp_path / "lecture", "lecture-1", **options)]
        return opened[0]

    yield open_them
    for each in opened:
        each.close_file()


OpenVotes = Callable[..., Votes]


def test_a_lecture_with_two_rounds(open_votes: OpenVotes) -> None:
    votes = open_votes()
    tokens = [votes.join() for _ in range(10)]
    votes.open(CHOICES)
    for token, answer in zip(tokens, [1] * 4 + [0] * 5 + [2], strict=True):
        assert votes.vote(token, "1-1", answer).status == "counted"
    assert (votes.joined, votes.view.answered, votes.view.results) == (10, 10, ())
    votes.close()
    assert (votes.right_share, votes.suggestion) == (0.4, "discuss")
    votes.discuss()
    assert votes.voter_view(tokens[0]).state == "discussing"
    votes.open(CHOICES)
    assert votes.view.phase == "voting again"
    for token, answer in zip(tokens, [1] * 7 + [0] * 3, strict=True):
        votes.vote(token, "1-2", answer)
    assert votes.view.results == ()
    votes.close()
    assert votes.view.phase == "revealed"
    assert [each.counts for each in votes.view.results] == [(5, 4, 1), (3, 7, 0)]
    assert (votes.view.right, votes.view.why_popular_wrong) == (1, "Not “zero”: no 0")
    assert votes.voter_view(tokens[0]).why_right == "“one”: yes"
    report = votes.report()
    assert report.gain == pytest.approx((0.7 - 0.4) / 0.6)
    assert json.loads(report.json())["questions"][0]["voted_twice"] == 10
    assert report.csv().splitlines()[1].startswith("1,basics,page,q,1,10,4,5 4 1,,")
    assert "+0.50" in report.text()
    assert "Which one?" in report.text()


@pytest.mark.parametrize(
    ("right", "suggestion"), [(34, "explain"), (35, "discuss"), (70, "discuss"), (71, "go on")]
)
def test_the_suggestion_depends_on_the_share_that_is_right(
    open_votes: OpenVotes, right: int, suggestion: str
) -> None:
    votes = open_votes()
    votes.open(CHOICES)
    for number in range(100):
        votes.vote(votes.join(), "1-1", 1 if number < right else 0)
    assert votes.suggestion is None
    votes.close()
    assert votes.suggestion == suggestion


def test_a_round_closed_without_an_answer_opens_again(open_votes: OpenVotes) -> None:
    votes = open_votes()
    token = votes.join()
    votes.open(CHOICES)
    votes.close()
    votes.open(CHOICES)
    assert (votes.view.phase, votes.view.round) == ("voting", 1)
    votes.vote(token, "1-1", 0)
    votes.close()
    votes.open(CHOICES)
    votes.close()
    votes = open_votes()
    assert (votes.view.phase, votes.view.results) == ("counted", ())
    votes.open(CHOICES)
    assert (votes.view.phase, votes.view.round) == ("voting again", 2)
    votes.vote(token, "1-2", 1)
    votes.close()
    assert [each.counts for each in votes.view.results] == [(1, 0, 0), (0, 1, 0)]
    assert len(votes.report().questions) == 1


@given(st.lists(st.integers(0, 300), min_size=1, max_size=10))
def test_percentages_add_up_to_100(counts: list[int]) -> None:
    tally = Tally(counts=tuple(counts), answered=sum(counts))
    assert sum(tally.percentages) == (100 if any(counts) else 0)
    for count, percentage in zip(counts, tally.percentages, strict=True):
        assert abs(percentage - 100 * count / max(1, sum(counts))) < 1


def test_a_vote_can_be_replaced_until_it_closes(open_votes: OpenVotes) -> None:
    votes = open_votes()
    token = votes.join()
    assert votes.vote(token, "1-1", 0).status == "closed"
    votes.open(CHOICES)
    assert [votes.vote(token, "1-1", answer).status for answer in (0, 2, 2, "1")] == [
        "counted",
        "replaced",
        "counted",
        "replaced",
    ]
    assert (votes.view.answered, votes.voter_view(token).answer) == (1, 1)
    votes.close()
    assert votes.vote(token, "1-1", 0).status == "closed"
    votes.open(CHOICES)
    assert votes.vote(token, "1-1", 0).status == "closed", "a late answer to the first vote"
    votes.reveal()
    assert [each.counts for each in votes.view.results] == [(0, 1, 0)], (
        "a round without answers has no result"
    )


@pytest.mark.parametrize("answer", [3, -1, True, "x", "", "\x1b[2J", "9" * 5000, "²", 10**30])
def test_an_answer_that_is_no_choice_counts_nothing(open_votes: OpenVotes, answer: Any) -> None:
    votes = open_votes()
    token = votes.join()
    votes.open(CHOICES)
    with pytest.raises(UsageError, match="choose one") as error:
        votes.vote(token, "1-1", answer)
    assert str(error.value).isprintable()
    assert votes.view.answered == 0


@pytest.mark.parametrize(
    "answer", ["", "fast", "-3 Mbit/s", "0", "1 s", "1e999 Mbit/s", "9" * 41, "\x1b[2J", "nan", 10**100]
)
def test_a_number_without_a_meaning_counts_nothing(open_votes: OpenVotes, answer: Any) -> None:
    votes = open_votes()
    token = votes.join()
    votes.open(NUMBERS)
    with pytest.raises((UsageError, UnitError)) as error:
        votes.vote(token, "1-1", answer)
    assert str(error.value).isprintable()
    assert votes.view.answered == 0


def test_numbers_are_fresh_in_the_second_round(open_votes: OpenVotes) -> None:
    votes = open_votes()
    first, second = votes.join(), votes.join()
    votes.open(NUMBERS)
    text = votes.view.text
    votes.vote(first, "1-1", "8 Mbit/s")
    votes.vote(second, "1-1", "1 Mbit/s")
    votes.close()
    votes.open(NUMBERS)
    assert votes.view.text != text
    assert votes.voter_view(first).text == votes.view.text
    assert "Mbit/s" in votes.vote(first, "1-2", "16").message
    votes.close()
    one, other = votes.view.results
    assert (one.values, one.right, one.right_value) == ((1e6, 8e6), 1, 8e6)
    assert (other.values, other.right, other.right_value) == ((16e6,), 1, 16e6)
    assert votes.view.why_popular_wrong == "Not “1 Mbit/s”: bytes, not bits"


def test_a_prediction_is_neither_right_nor_wrong(open_votes: OpenVotes) -> None:
    votes = open_votes()
    votes.open(PREDICTION)
    votes.vote(votes.join(), "1-1", "20 Mbit/s")
    votes.compare(12e6)
    assert votes.view.measured is None
    votes.close()
    assert (votes.right_share, votes.suggestion) == (None, None)
    votes.reveal()
    assert (votes.view.measured, votes.view.results[0].values, votes.view.results[0].right) == (
        12e6,
        (20e6,),
        None,
    )
    assert votes.report().gain is None


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "0" * 16 + "..", "ä.ö.ü", "." * 1000])
def test_a_token_that_the_lecture_did_not_sign_is_refused(open_votes: OpenVotes, token: str) -> None:
    votes = open_votes()
    votes.open(CHOICES)
    for call in (lambda: votes.vote(token, "1-1", 0), lambda: votes.voter_view(token)):
        with pytest.raises(UnknownVoter):
            call()
    assert (votes.view.answered, votes.joined) == (0, 0)


def test_a_token_is_of_one_lecture(tmp_path: Path, open_votes: OpenVotes) -> None:
    votes, other = open_votes(), Votes(tmp_path / "other", "lecture-2")
    with pytest.raises(UnknownVoter):
        votes.voter_view(other.join())
    other.close_file()


@pytest.mark.parametrize("name", ["a\x1b[2J", "\u202ename", "a\nb", "x" * 41])
def test_a_name_that_cannot_be_shown_is_refused(open_votes: OpenVotes, name: str) -> None:
    with pytest.raises(UsageError) as error:
        open_votes().join(name)
    assert str(error.value).isprintable()


def test_terminals_and_phones_hear_of_changes(open_votes: OpenVotes) -> None:
    votes = open_votes()
    calls: list[int] = []
    votes.on_change = lambda: calls.append(votes.version)
    token = votes.join()
    votes.open(CHOICES)
    votes.vote(token, "1-1", 1)
    votes.vote(token, "1-1", 1)
    votes.close()
    votes.close()
    assert calls == [0, 1, 1, 2], "phones need nothing new when others answer"


def test_names_are_stored_only_if_the_teacher_asks(tmp_path: Path, open_votes: OpenVotes) -> None:
    for with_names in (False, True):
        votes = open_votes(with_names=with_names)
        token = votes.join("Zoë")
        votes.open(CHOICES)
        votes.vote(token, f"{1 + with_names}-1", 0)
        votes.reveal()
        text = (tmp_path / "lecture/votes.jsonl").read_text()
        assert ("Zoë" in text) is with_names
    assert [(each.name, each.answered) for each in votes.report().participation] == [("Zoë", 1)]


def test_a_flood_of_joins_leaves_no_trace(
    tmp_path: Path, open_votes: OpenVotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcptutor.room.voters.MOST_VOTERS", 50)
    votes = open_votes()
    student = votes.join()
    for _ in range(500):
        votes.join()
    assert votes.joined == 50
    assert (tmp_path / "lecture/votes.jsonl").read_bytes() == b""
    votes.open(CHOICES)
    assert votes.vote(student, "1-1", 1).status == "counted"


def test_a_voter_who_never_stops_changing_is_stopped(tmp_path: Path, open_votes: OpenVotes) -> None:
    votes = open_votes()
    token = votes.join()
    votes.open(CHOICES)
    for number in range(MOST_CHANGES):
        votes.vote(token, "1-1", number % 2)
    size = (tmp_path / "lecture/votes.jsonl").stat().st_size
    with pytest.raises(UsageError, match="last one counts"):
        votes.vote(token, "1-1", 2)
    assert (tmp_path / "lecture/votes.jsonl").stat().st_size == size
    assert votes.view.answered == 1


def test_the_files_are_their_owners_only(tmp_path: Path, open_votes: OpenVotes) -> None:
    token = open_votes().join()
    for name in ("votes.jsonl", "votes.key"):
        assert (tmp_path / "lecture" / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "lecture").stat().st_mode & 0o777 == 0o700
    assert token.encode() not in (tmp_path / "lecture/votes.jsonl").read_bytes()


def test_a_second_process_cannot_use_the_same_votes(tmp_path: Path, open_votes: OpenVotes) -> None:
    open_votes()
    with pytest.raises(TutorError, match="in use"):
        Votes(tmp_path / "lecture", "lecture-1")


def test_a_damaged_line_costs_one_answer(tmp_path: Path, open_votes: OpenVotes) -> None:
    votes = open_votes()
    votes.open(CHOICES)
    for answer in (0, 1, 1):
        votes.vote(votes.join(), "1-1", answer)
    path = tmp_path / "lecture/votes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        lines[0] + b'{"type":"AnswerGiven","voter":7}\n' + b"".join(lines[2:]) + b'{"type":"Answ'
    )
    votes = open_votes()
    assert (votes.view.answered, len(votes.remarks)) == (2, 1)
    votes.vote(votes.join(), "1-1", 2)
    assert open_votes().view.answered == 3


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_damaged_file_never_stops_the_lecture(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        votes = Votes(Path(folder), "lecture-1")
        tokens = [votes.join() for _ in range(4)]
        for asked, answers in ((CHOICES, (0, 1, 2, 2)), (NUMBERS, ("8", "1", "1", "9"))):
            for _ in range(2):
                votes.open(asked)
                for token, answer in zip(tokens, answers, strict=True):
                    votes.vote(token, votes.voter_view(token).poll, answer)
                votes.close()
        votes.close_file()
        path = Path(folder) / "votes.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(lines) - 1))
            other = data.draw(st.sampled_from([b"", b"\x00\xff\n", b"[" * 5000 + b"\n", *lines]))
            lines[at] = data.draw(st.sampled_from([other, lines[at][:-9], lines[at] + other]))
        path.write_bytes(b"".join(lines))
        votes = Votes(Path(folder), "lecture-1")
        votes.report().text()
        votes.report().csv()
        assert len(votes.remarks) <= 1
        votes.close()
        votes.open(CHOICES)
        for token in tokens:
            assert votes.vote(token, votes.voter_view(token).poll, 1).status != "closed"
        votes.reveal()
        assert votes.view is not None
        assert votes.view.results[-1].answered == 4
        votes.close_file()


def test_an_answer_that_cannot_be_stored_does_not_count(
    open_votes: OpenVotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes = open_votes()
    token = votes.join()
    votes.open(CHOICES)
    with monkeypatch.context() as broken:
        broken.setattr(os, "write", lambda fd, data: len(data) // 2)
        with pytest.raises(TutorError, match="free some space"):
            votes.vote(token, "1-1", 0)
    assert votes.view.answered == 0
    assert votes.vote(token, "1-1", 1).status == "counted"
    assert open_votes().voter_view(token).answer == 1


def test_acknowledged_answers_survive_a_kill(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from tcptutor.room.talk import Tally
from tcptutor.room.voters import UnknownVoter
from tcptutor.room.votes import Votes
from tests.room.made import CHOICES
votes = Votes(Path(sys.argv[1]), "lecture-1")
votes.open(CHOICES)
while True:
    token = votes.join()
    votes.vote(token, "1-1", 1)
    print(token, flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().strip() for _ in range(200)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.read().split("\n")[:-1]
    votes = Votes(tmp_path, "lecture-1")
    assert all(votes.voter_view(token).answer == 1 for token in acknowledged)
    assert votes.view is not None
    assert len(acknowledged) <= votes.view.answered <= len(acknowledged) + 1
    votes.close_file()


class VotesMachine(RuleBasedStateMachine):
    """Any order of calls and kills, against counts kept independently."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.now = 0.0
        self.votes = self._opened()
        self.tokens: list[str] = []
        self.expected: dict[str, dict[str, int]] = {}
        """Last accepted answer by round and voter."""

    def _opened(self) -> Votes:
        return Votes(Path(self.folder.name), "lecture-1", clock=lambda: self.now)

    @rule()
    def join(self) -> None:
        self.tokens.append(self.votes.join())

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), answer=st.integers(-1, 3))
    def vote(self, data: st.DataObject, answer: int) -> None:
        token = data.draw(st.sampled_from(self.tokens))
        poll = data.draw(st.sampled_from([*self.expected, "9-9"]))
        is_open = self.votes.voter_view(token).poll == poll
        try:
            status = self.votes.vote(token, poll, answer).status
        except UsageError:
            assert is_open
            assert not 0 <= answer < 3
            return
        assert (status != "closed") is is_open
        if status != "closed":
            assert (status == "replaced") is (self.expected[poll].get(token, answer) != answer)
            self.expected[poll][token] = answer

    @rule(asked=st.sampled_from([CHOICES, msgspec.structs.replace(CHOICES, activity="other")]))
    def open(self, asked: AskedQuestion) -> None:
        try:
            self.votes.open(asked)
        except UsageError:
            assert self.votes.view is not None
            return
        self.tokens.append(self.votes.join())
        self.expected[self.votes.voter_view(self.tokens[-1]).poll] = {}

    @rule(command=st.sampled_from(["close", "discuss", "reveal"]))
    def command(self, command: str) -> None:
        try:
            getattr(self.votes, command)()
        except UsageError:
            assert command in ("discuss", "reveal")

    @rule(by=st.floats(-1e9, 1e9))
    def clock_jumps(self, by: float) -> None:
        self.now += by

    @rule()
    def killed(self) -> None:
        before = [msgspec.to_builtins(self.votes.voter_view(token)) for token in self.tokens], self.votes.view
        suggestion, report = self.votes.suggestion, self.votes.report().questions
        self.votes.close_file()
        self.votes = self._opened()
        assert before == (
            [msgspec.to_builtins(self.votes.voter_view(token)) for token in self.tokens],
            self.votes.view,
        )
        assert (suggestion, report) == (self.votes.suggestion, self.votes.report().questions)

    @invariant()
    def each_voter_counts_once(self) -> None:
        view = self.votes.view
        if view is None:
            return
        number = max(int(poll.partition("-")[0]) for poll in self.expected)
        answers = self.expected[f"{number}-{view.round}"]
        assert view.answered == len(answers)
        if view.phase == "revealed":
            for at, tally in enumerate(view.results, start=1):
                given = list(self.expected[f"{number}-{at}"].values())
                assert tally.counts == tuple(given.count(choice) for choice in range(3))
                assert tally.answered == len(given)

    @invariant()
    def no_result_shows_before_the_reveal(self) -> None:
        view = self.votes.view
        if view is None or view.phase == "revealed":
            return
        for shown in (view, *map(self.votes.voter_view, self.tokens)):
            assert (shown.results, shown.right, shown.why_popular_wrong) == ((), None, "")

    def teardown(self) -> None:
        if hasattr(self, "votes"):
            self.votes.close_file()
            self.folder.cleanup()


VotesMachine.TestCase.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestVotesInAnyOrder = VotesMachine.TestCase
