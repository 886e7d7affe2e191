"""Keys and settings of the configuration file in the app: they work, and every sentence and list names them."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Static

from tcptutor.base import places
from tcptutor.ui.screens.dialogs import HelpScreen, NetworkScreen
from tcptutor.ui.screens.find import FindScreen
from tcptutor.ui.screens.lesson import LessonScreen

from .screen import keys, text, until, until_text


def configure(text: str) -> Path:
    path = places.config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def test_run_on_f5_runs_and_all_hints_name_it(make_app) -> None:
    configure('[keys]\nlesson.run = "f5"\n')
    app = make_app("many-flows")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "F5 run")
        assert "r run" not in text(app).splitlines()[-1]
        await until_text(pilot, "Press F5 to run it")
        await pilot.press("r")
        await pilot.pause()
        assert app.bench.live is None
        await pilot.press("f5")
        await until(pilot, lambda: app.bench.live is not None)
        await app.bench.close()


async def test_the_list_of_keys_has_the_new_key_and_the_default(make_app) -> None:
    configure('[keys]\nlesson.run = ["f5", "ctrl+r"]\n')
    app = make_app("many-flows")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "F5 run")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await until(pilot, lambda: "this list of keys" in str(app.screen.query_one(Static).content))
        rows = str(app.screen.query_one(Static).content)
        assert "F5 ^r" in rows
        assert "(default: r)" in rows
        await app.bench.close()


async def test_a_page_is_turned_by_the_new_key_and_no_longer_by_the_arrow(make_app) -> None:
    configure('[keys]\nlesson.next = "J"\nlesson.previous = "K"\n')
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "1/2")
        await pilot.press("right")
        await pilot.pause(0.1)
        assert "1/2" in text(app)
        await pilot.press("J")
        await until_text(pilot, "2/2")
        await pilot.press("K")
        await until_text(pilot, "1/2")
        await app.bench.close()


async def test_the_key_that_opens_a_dialog_closes_it(make_app) -> None:
    configure('[keys]\nlesson.network = "f4"\n')
    app = make_app("many-flows")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "r run")
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, NetworkScreen))
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, LessonScreen))
        await app.bench.close()


async def test_a_mistake_is_shown_with_its_line_and_the_default_works(make_app) -> None:
    path = configure('[keys]\nlesson.run = "s"\nlesson.notte = "f5"\n')
    app = make_app("many-flows")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "r run")
        shown = " ".join(toast.message for toast in app._notifications)
        assert f"{path}:2: " in shown
        assert "did you mean lesson.note?" in shown
        await app.bench.close()


async def test_the_palette_names_the_new_key(make_app) -> None:
    configure('[keys]\nlesson.run = "f5"\napp.commands = "ctrl+o"\n')
    app = make_app("many-flows")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "F5 run")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, FindScreen))
        await pilot.press(*keys("run"))
        await until_text(pilot, "key F5")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LessonScreen))
        await app.bench.close()


async def test_a_choice_against_the_file_holds_until_the_app_ends(make_app) -> None:
    path = configure('theme = "light"\n')
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        assert not app.current_theme.dark
        app.choose_theme("dark")
        await until(pilot, lambda: app.current_theme.dark)
        await until(pilot, lambda: any(f"{path}:1" in toast.message for toast in app._notifications))
        assert app.settings.theme == "dark"
