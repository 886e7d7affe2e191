"""Responses and hints of a page: passes input to the study, shows its feedback in the boxes."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from tcptutor.base.errors import UsageError
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given
from tcptutor.journal.saved import Draft
from tcptutor.study.study import Study
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.page import Page

WAS_RIGHT = Content.assemble(
    ("✓ ", "$success bold"), "You got this right before. The numbers are new: answer again if you like."
)


class Answers:
    """Connects the page's boxes with the study."""

    def __init__(self, study: Study, page: Page) -> None:
        self._study, self._page = study, page
        self._last: Activity | None = None
        self._focused: Activity | None = None

    @property
    def _activities(self) -> tuple[Activity, ...]:
        return tuple(box.activity for box in self._page.boxes)

    def remember_focus(self, activity: Activity) -> None:
        """Remember the focused activity, the target of keys even after Esc."""
        self._focused = activity

    def restore(self) -> None:
        """Show earlier responses and hints."""
        self.reveal()
        for activity in self._activities:
            self._show(activity, just_now=False)
            if self._study.was_right(activity):
                self._page.box(activity).show_feedback(WAS_RIGHT, scroll=False)
            self._page.box(activity).show_hints(self._study.hints_shown(activity))
            self._offer_hint(activity)

    def mark_again(self) -> None:
        """Mark responses against the run that is now loaded."""
        for activity in self._activities:
            if activity.against_run:
                self._study.record_measured(activity)
                self._show(activity, just_now=False)

    def reveal(self) -> None:
        """Show the activities that are now revealed."""
        for activity in self._activities:
            self._page.box(activity).reveal(self._study.what_comes_first(activity))
            self._offer_hint(activity)

    def respond(self, activity: Activity, given: Given, confirmed: bool = False) -> bool:
        """Mark a response and show the feedback; return False if the response is not accepted.

        Asks for confirmation of an implausible value unless `confirmed`.
        """
        try:
            if not confirmed and activity.locked and (doubt := self._study.doubt(activity, given)):
                self._page.box(activity).ask_confirmation(given, doubt)
                return False
            self._study.respond(activity, given, self._page.box(activity).sureness)
        except UsageError as error:
            box = self._page.box(activity)
            if box.is_locked:  # a final response is its own explanation
                self._show(activity, just_now=False)
            elif self._study.was_given_wrong(activity, given) and (known := self._study.response(activity)):
                box.show_again(known, str(error))
            else:
                box.show_error(str(error))
            return False
        self._last = activity
        self._show(activity, just_now=True)
        self._offer_hint(activity)
        return True

    def redraw(self, of: Activity | None = None) -> None:
        """Pose `of`, or the activity answered last, with new numbers."""
        activity = of or self._next_to_redraw()
        if activity is not None:
            box = self._page.box(activity)
            box.replace_activity(self._study.redraw(activity))
            self._offer_hint(box.activity)
            box.demand_response()

    def _next_to_redraw(self) -> Activity | None:
        """Return the activity that key a redraws: the last answered, or the first on screen."""
        able = [each for each in self._activities if self._study.can_redraw(each)]
        last = [each for each in able if self._last and each.id == self._last.id]
        seen = [each for each in able if self._page.shows(self._page.box(each))]
        return next(iter([*last, *seen, *able]), None)

    def withdraw(self) -> None:
        """Unlock the last locked response, keeping its input."""
        activity = self._next_to_withdraw()
        locked = self._study.record_of(activity).first if activity else None
        if activity is None or locked is None:
            return
        if self._study.withdraw(activity):
            self._page.box(activity).reopen(locked.answer)
            self._offer_hint(activity)
        else:
            self._show(activity, just_now=True)

    def _next_to_withdraw(self) -> Activity | None:
        """Return the activity that key u withdraws: the last answered, or the first."""
        able = [each for each in self._activities if self._study.can_withdraw(each)]
        last = [each for each in able if self._last and each.id == self._last.id]
        return next(iter([*last, *able]), None)

    def can(self, action: str) -> bool:
        """Return True if a key of the page has an effect on its questions."""
        next_of = {
            "hint": self.next_hint,
            "withdraw": self._next_to_withdraw,
            "again": self._next_to_redraw,
        }
        return next_of[action]() is not None

    @property
    def drafts(self) -> dict[str, Draft]:
        """Unsubmitted input by activity id."""
        return {
            box.activity.id: draft
            for box in self._page.boxes
            if (draft := box.draft) is not None and not self._is_submitted(box.activity, draft)
        }

    def _is_submitted(self, activity: Activity, draft: Draft) -> bool:
        latest = self._study.record_of(activity).latest
        return latest is not None and latest.answer == (tuple(draft) if isinstance(draft, list) else draft)

    def restore_drafts(self, drafts: Mapping[str, Draft]) -> None:
        """Restore unsubmitted input."""
        for box in self._page.boxes:
            if (draft := drafts.get(box.activity.id)) is not None:
                box.restore_draft(draft)

    def skip_before_run(self) -> None:
        """Skip the activities due before the run, for good."""
        while (due := self._study.due_before_run) is not None:
            self._study.skip(due)
            self._show(due, just_now=True)

    def skip_observation(self) -> None:
        """Skip the observation question about the run, which reveals the explanation."""
        if (due := self._study.due_observation) is not None:
            self._study.skip(due)
            self._show(due, just_now=False)

    def type_digit(self, digit: str) -> None:
        """Type a digit into the due number, or pick a choice."""
        box = self._box_at_hand()
        if box is not None and not box.start_typing(digit):
            box.pick(int(digit))

    @property
    def can_state_sureness(self) -> bool:
        """True if the student may say how sure the response at hand is."""
        box = self._box_at_hand()
        return box is not None and box.can_state_sureness

    def cycle_sureness(self) -> None:
        """Change how sure the student is of the response at hand."""
        box = self._box_at_hand()
        if box is not None and box.can_state_sureness:
            if not box.is_active:
                box.focus_entry()
            box.cycle_sureness()

    @property
    def has_due(self) -> bool:
        """True if a question or an example can be answered now."""
        return any(self._study.is_due(box.activity) for box in self._page.boxes)

    def enter_due(self) -> None:
        """Focus the first due activity."""
        box = self._box_at_hand()
        if box is not None:
            box.demand_response()

    def focus_next_due(self) -> bool:
        """Focus the next due activity after the last answer; return False if none is due."""
        due = [box for box in self._page.boxes if self._study.is_due(box.activity)]
        left = self._last_focused_box()
        if left is not None and left in due:
            # Esc left this box, perhaps for a hint: the next try belongs there.
            left.focus_entry()
            return True
        if self._last is not None:
            last = [box.activity.id for box in self._page.boxes].index(self._last.id)
            due = sorted(due, key=lambda box: self._page.boxes.index(box) <= last)
        else:
            due = sorted(due, key=lambda box: not self._page.shows(box))
        if due:
            due[0].focus_entry()
        return bool(due)

    def paste(self, text: str) -> None:
        """Begin a due prediction with pasted text that starts with a digit."""
        box = self._box_at_hand()
        if box is not None and text[:1].isdigit():
            box.start_typing(text)

    def hint(self, activity: Activity) -> None:
        """Show the next hint of an activity."""
        self._study.hint(activity)
        self._page.box(activity).show_hints(self._study.hints_shown(activity), just_now=True)
        self._offer_hint(activity)

    def next_hint(self) -> Activity | None:
        """Return the activity that key h helps with: the focused activity if due, or the first due."""
        at_hand = self._page.active_box() or self._last_focused_box()
        if at_hand is not None and self._study.is_due(at_hand.activity):
            wanted: tuple[Activity, ...] = (at_hand.activity,)
        else:
            wanted = tuple(activity for activity in self._activities if self._study.is_due(activity))
        return next((activity for activity in wanted if self._study.hints_left(activity)), None)

    def _offer_hint(self, activity: Activity) -> None:
        level = self._study.hints_shown(activity) + 1
        wanted = self._study.is_due(activity) and self._study.hints_left(activity)
        self._page.box(activity).offer_hint(level if wanted else 0)

    def _show(self, activity: Activity, just_now: bool) -> None:
        response = self._study.response(activity)
        if response is not None:
            self._page.box(activity).show(response, just_now)

    def _box_at_hand(self) -> ActivityBox[Activity] | None:
        """Return the unfinished focused box, or the first due box, preferably on screen."""
        at_hand = self._page.active_box() or self._last_focused_box()
        if at_hand is not None and not at_hand.is_locked:
            return at_hand
        due = [box for box in self._page.boxes if box.takes_digits and self._study.is_due(box.activity)]
        return next((box for box in due if self._page.shows(box)), due[0] if due else None)

    def _last_focused_box(self) -> ActivityBox[Activity] | None:
        if self._focused is None:
            return None
        box = self._page.box(self._focused)
        return box if self._page.shows(box) else None
