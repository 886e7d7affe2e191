"""Changed keys: what is accepted, what is refused, and that no other key of any screen changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tcptutor
from tcptutor.base.key_names import DEFAULTS
from tcptutor.ui.configuration.actions import load_actions
from tcptutor.ui.configuration.keymap import (
    FOLLOWERS,
    LEADERS,
    KeyEntry,
    ResolvedKeys,
    resolve,
    textual_keymap,
)
from tcptutor.ui.configuration.spelling import shown_key, written_key
from tests.documentation import key_actions


def resolved(*entries: tuple[str, str]) -> ResolvedKeys:
    """Resolve entries with keys that are separated by blanks, on lines 1, 2, ..."""
    return resolve(
        load_actions(),
        [KeyEntry(id, tuple(keys.split(" ")), f"f:{line}") for line, (id, keys) in enumerate(entries, 1)],
    )


def test_the_table_is_that_of_the_bindings() -> None:
    assert key_actions.PAGE.read_text(encoding="utf-8") == key_actions.page(), (
        "write it anew: python -m tests.documentation keys"
    )


def test_every_key_that_a_sentence_names_is_the_default_of_its_action() -> None:
    sources = Path(tcptutor.__file__).parent.rglob("*.py")
    named = {id for path in sources for id in re.findall(r"key_name\(\s*[\"']([a-z.-]+)", path.read_text())}
    assert len(named) > 10
    assert not named - DEFAULTS.keys()
    actions = load_actions().by_id
    assert {id: key for id, key in DEFAULTS.items() if key not in map(shown_key, actions[id].keys)} == {}


def test_all_leaders_and_followers_exist() -> None:
    actions = load_actions().by_id
    assert {*LEADERS, *FOLLOWERS} <= {*actions}
    assert {*LEADERS.values()} <= {action.id for action in load_actions().changeable}
    assert {*FOLLOWERS.values()} <= {action.id for action in load_actions().changeable}
    assert all(actions[id].keys == actions[leader].keys for id, leader in LEADERS.items())


def test_all_defaults_together_change_nothing() -> None:
    actions = load_actions().changeable
    entries = [KeyEntry(action.id, tuple(map(written_key, action.keys)), "f:1") for action in actions]
    assert resolve(load_actions(), entries) == ResolvedKeys({}, ())


def test_an_action_may_have_several_keys() -> None:
    assert resolved(("lesson.run", "F5 r")).changes == {"lesson.run": ("f5", "r")}


def test_two_actions_may_swap_their_keys() -> None:
    done = resolved(("lesson.run", "s"), ("lesson.stop", "r"))
    assert done == ResolvedKeys({"lesson.run": ("s",), "lesson.stop": ("r",)}, ())


def test_esc_leaves_whatever_the_file_says() -> None:
    assert resolved(("history.back", "f8")).changes == {"history.back": ("f8", "escape")}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (("lesson.runn", "f5"), "did you mean lesson.run?"),
        (("lesson.run", "s"), "s is already lesson.stop on the screen page"),
        (("lesson.run", "g"), "lesson.follow"),
        (("app.quit", "x"), "already"),
        (("lesson.run", "d"), "already app.terms"),
        (("lesson.run", "3"), "lesson.choice-3"),
        (("lesson.run", "ctrl+q"), "it always quits"),
        (("lesson.run", "escape"), "it always goes back"),
        (("lesson.run", "space"), "texts, lists and fields need Space"),
        (("lesson.sureness", "k"), "fields need 'k'"),
        (("lesson.pane", "ctrl+u"), "fields need 'ctrl+u'"),
        (("history.up", "k"), "fields need 'k'"),
        (("app.quit-anywhere", "f10"), "are fixed"),
        (("lesson.choice-1", "f5"), "are fixed"),
        (("workbench.run", "f5"), "change that instead"),
        (("lesson.run", "ctrl+i"), "sends Tab"),
    ],
)
def test_an_entry_that_cannot_work_is_refused_in_a_line(entry: tuple[str, str], says: str) -> None:
    done = resolved(entry)
    assert done.changes == {}
    (problem,) = done.problems
    assert problem.startswith("f:1: ")
    assert says in problem
    assert "\n" not in problem


def test_of_two_new_keys_that_are_the_same_the_first_stays() -> None:
    done = resolved(("lesson.run", "f5"), ("lesson.stop", "f5"))
    assert done.changes == {"lesson.run": ("f5",)}
    (problem,) = done.problems
    assert problem.startswith("f:2: ")
    assert "lesson.stop keeps s" in problem


def test_an_entry_that_relies_on_a_refused_one_is_refused_too() -> None:
    done = resolved(("lesson.run", "s"), ("lesson.stop", "f"))
    assert done.changes == {}
    assert len(done.problems) == 2


def test_changing_one_action_leaves_the_keys_of_all_others_on_every_screen() -> None:
    """Textual's keymap removes a key with all bindings that it has."""
    table = load_actions()
    maps = {name: key_actions.classes()[name]._merge_bindings() for name in key_actions.SCREENS}
    for action in table.changeable:
        keymap = textual_keymap(table, {action.id: ("f12",)})
        changed = {id for id in keymap if "f12" in keymap[id]}
        for name, before in maps.items():
            ids = {binding.id for _, binding in before}
            if not ids & {*keymap}:
                continue
            after = before.copy()
            after.apply_keymap(keymap)
            assert action.id not in ids or after.key_to_bindings["f12"][0].id == action.id
            for key, bindings in before.key_to_bindings.items():
                wanted = [each.id for each in bindings if each.id and each.id not in changed]
                found = [each.id for each in after.key_to_bindings.get(key, ()) if each.id]
                assert [*dict.fromkeys(id for id in found if id not in changed)] == wanted, (
                    action.id,
                    name,
                    key,
                )
