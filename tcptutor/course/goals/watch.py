"""Goal watch: turns a session's events and printed bytes into a goal board, without I/O.

watch = GoalWatch(shell.parsed_goals, shell.in_order, bool(shell.fault))
async for event in conducted:                 # conduct.ConductedSession
    board = watch.take(event, conducted.run)
board = watch.take_output("h1", data)         # output of a terminal
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence

from msgspec import structs

from tcptutor.course.goals.goal import GoalBoard, GoalState, NearMiss, ParsedGoal
from tcptutor.course.goals.lab_view import LabRun, LabView
from tcptutor.course.goals.near_misses import near_miss, obstacle
from tcptutor.course.goals.near_misses.error_messages import PrintedLines, is_correction, refused
from tcptutor.course.goals.near_misses.slip import Attempt
from tcptutor.run import Finished, Run
from tcptutor.wire.kernel_state import HostState, SessionState
from tcptutor.wire.protocol import CommandEnded, Event, Failed, RunDetected, Samples

_REMEMBERED = 20
"""Earlier states to keep, for finding the command that undid a setting."""


class GoalWatch:
    """Observer that ticks goals by the kernel's state and traffic, never by typed or printed text."""

    def __init__(
        self,
        asked: Sequence[ParsedGoal],
        in_order: bool = False,
        broken: bool = False,
        *,
        explains: bool = True,
        reached: Collection[str] = (),
    ) -> None:
        """Start watching.

        Args:
            asked: Goals of the page.
            in_order: Whether each goal is due only after all earlier goals were ticked.
            broken: Whether the network has a fault to find, so that initial near misses are not explained.
            explains: Whether to report near misses.
            reached: Ids of goals reached in an earlier session; goals with `stays_ticked` start ticked.
        """
        self._explains = explains
        self._asked, self._in_order, self._broken = tuple(asked), in_order, broken
        self._given: set[tuple[int, str]] = set()
        """Initial near misses by goal and kind, hidden on a page with a fault to find."""
        self._start: SessionState | None = None
        self._states: list[SessionState] = []
        """Distinct states, latest first."""
        self._before: dict[tuple[str, str], str] = {}
        self._runs: list[LabRun] = []
        self._due: dict[int, int] = {} if in_order else dict.fromkeys(range(len(self._asked)), 0)
        """Goals that are due, with the index of the first run that counts for each."""
        self._changed: dict[str, HostState] = {}
        """Hosts at the last change of the network."""
        self._reached = {
            place
            for place, each in enumerate(self._asked)
            if each.goal.stays_ticked and each.goal.id in reached
        }
        """Indexes of goals that stay ticked."""
        self._lines: dict[Hashable, PrintedLines] = {}
        self._printed: NearMiss | None = None
        self._failed: CommandEnded | None = None
        """Last rejected command."""
        self._changes = 0
        """Distinct states since that message was printed."""
        self.board = GoalBoard(
            goals=tuple(
                GoalState(
                    id=each.goal.id,
                    text=each.goal.text,
                    ticked=place in self._reached,
                    due=not in_order or place == 0,
                )
                for place, each in enumerate(self._asked)
            )
        )
        """Current state of the goals."""

    @property
    def latched_goals(self) -> tuple[str, ...]:
        """Ids of the goals that stay ticked after their state changes."""
        return tuple(each.goal.id for place, each in enumerate(self._asked) if place in self._reached)

    def take(self, event: Event, run: Run | None = None) -> GoalBoard:
        """Process a session event, with its run if any.

        The end of a run costs as much as `analysis.report` if a goal asks for a measurement; any other event
        takes a few milliseconds.
        """
        match event:
            case SessionState():
                self._took(event)
            case RunDetected(experiment=experiment) if self._states:
                self._end(None)
                self._printed = None  # a later command has succeeded
                self._runs.append(LabRun(self._states[0], experiment))
            case Samples() if self._going_on:
                self._runs[-1].add_samples(event)
                return self._judge(explain=False)
            case Finished():
                self._end(run)
            case Failed():
                self._end(None)
            case CommandEnded():
                return self._command_ended(event)
            case _:
                return self.board
        return self._judge()

    def take_output(self, terminal: Hashable, data: bytes) -> GoalBoard:
        """Process terminal output: error messages are explained, and no goal is ticked."""
        return self._say(self._lines.setdefault(terminal, PrintedLines()).take(data))

    def _command_ended(self, event: CommandEnded) -> GoalBoard:
        if is_correction(event, self._failed):
            self._failed = self._printed = None
            self.board = structs.replace(self.board, printed=None)
        if event.status:
            self._failed = event
        return self._say(refused(event, self._states[0] if self._states else None))

    def _say(self, found: NearMiss | None) -> GoalBoard:
        if found is not None and found != self._printed:
            self._printed, self._changes = found, 0
            self.board = structs.replace(self.board, printed=found)
        return self.board

    @property
    def _going_on(self) -> LabRun | None:
        return self._runs[-1] if self._runs and not self._runs[-1].ended else None

    def _took(self, state: SessionState) -> None:
        is_first, self._start = self._start is None, self._start or state
        self._before |= {(one.host, one.name): one.before for one in state.sysctls}
        if self._going_on:
            self._going_on.experiment = state.experiment
            if state.path is not None:
                self._going_on.record_path(state.path)
        state = _as_it_is(state)
        if not self._states or _settings(state) != _settings(self._states[0]):
            self._states = [state, *self._states[: _REMEMBERED - 1]]
            self._changes += 1
            self._changed = {host.name: host for host in state.hosts}
        else:
            self._states[0] = state
        if is_first and self._broken and self._explains:
            self._given = set(self._near_at_first())

    def _end(self, run: Run | None) -> None:
        if self._going_on:
            self._going_on.end(run)

    def _judge(self, explain: bool = True) -> GoalBoard:
        """Judge all goals; without `explain`, near misses and goals not about runs stay as they are."""
        if self._start is None:
            return self.board
        states: list[GoalState] = []
        for place, each in enumerate(self._asked):
            if place not in self._due and all(state.ticked for state in states):
                # A run in progress when the goal became due may satisfy it.
                self._due[place] = len(self._runs) - (self._going_on is not None)
            if not explain and (each.at_end or not each.about_run) and self.board.goals[place].due:
                states.append(self.board.goals[place])
                continue
            state = self._state(place, each, explain and self._explains)
            if state.near in [before.near for before in states]:
                state = structs.replace(state, near=None)  # already explained at an earlier goal
            states.append(state)
        # The first change after a message may predate it and arrive late.
        ticked = {place for place, state in enumerate(states) if state.ticked}
        if self._changes > 1 or ticked - set(self.board.reached):
            self._printed = None
        self.board = GoalBoard(goals=tuple(states), printed=self._printed)
        return self.board

    def _state(self, place: int, asked: ParsedGoal, explain: bool) -> GoalState:
        id_, text = asked.goal.id, asked.goal.text
        if place in self._reached:
            return GoalState(id=id_, text=text, ticked=True)
        if place not in self._due:
            return GoalState(id=id_, text=text, due=False)
        runs = self._runs[self._due[place] :]
        attempts = [
            Attempt(asked, view, tuple(self._states[1:]), runs[-1] if runs else None)
            for view in self._views(asked, runs)
        ]
        for attempt in attempts:
            if not attempt.unmet and obstacle(attempt) is None and _is_sound(attempt):
                if asked.goal.stays_ticked:
                    self._reached.add(place)
                return GoalState(id=id_, text=text, ticked=True)
        if not explain:
            return structs.replace(self.board.goals[place], ticked=False, due=True)
        # Check the current state first: its faults will affect the next run.
        now = Attempt(asked, self._now(), tuple(self._states[1:]), runs[-1] if runs else None)
        explanations = (
            near
            for near in map(near_miss, (now, *attempts))
            if near and (place, near.kind) not in self._given
        )
        return GoalState(id=id_, text=text, near=next(explanations, None))

    def _near_at_first(self) -> Iterator[tuple[int, str]]:
        for place, each in enumerate(self._asked):
            near = near_miss(Attempt(each, self._now()))
            if near is not None:
                yield place, near.kind

    def _now(self) -> LabView:
        assert self._start is not None
        return LabView(self._states[0], self._start, self._before, changed=self._changed)

    def _views(self, asked: ParsedGoal, runs: list[LabRun]) -> list[LabView]:
        """Return the current lab, or for goals about runs, the current and the last finished run."""
        if not asked.about_run:
            return [self._now()]
        going_on = [run for run in runs[-1:] if not run.ended and not asked.at_end]
        ended = [run for run in runs if run.ended][-1:]
        return [self._now()._replace(state=run.state, run=run) for run in (*going_on, *ended)]


def _as_it_is(state: SessionState) -> SessionState:
    """Return the state with the current path: a run's experiment has its initial path and the changes since."""
    path = state.path or state.experiment.path
    for change in path.changes:
        path = path.after(change)
    path = structs.replace(path, changes=())
    return structs.replace(state, experiment=structs.replace(state.experiment, path=path))


def _settings(state: SessionState) -> tuple[object, ...]:
    return state.interfaces, state.sysctls, state.experiment.hosts.mtu


def _is_sound(attempt: Attempt) -> bool:
    """Return True unless the goal needs measurements from a run that cannot be trusted."""
    run = attempt.view.run
    return run is None or not attempt.asked.at_end or not run.fault
