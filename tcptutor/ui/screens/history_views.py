"""Views of chosen runs: a comparison of two, several drawn over each other, and the choice of an export."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.base import files
from tcptutor.base.columns import table, wrapped
from tcptutor.base.errors import TutorError
from tcptutor.history.comparison import RunComparison
from tcptutor.history.listing import ListedRun
from tcptutor.run import Run, load
from tcptutor.study import background
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.chart.comparison import comparison_run
from tcptutor.ui.widgets.history.overlay import OverlaidRun, OverlayPanel
from tcptutor.ui.workers import start_worker

_RIGHT = (False, True, True, True)
_GAP = 3


class ComparisonScreen(TutorScreen):
    """Settings in which two runs differ, and their results side by side; Esc returns to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "back", id="comparison.back", tooltip="back to the runs"),
    ]
    FOOTER = (("comparison.back", "back to the runs"), ("app.keys", "keys"), ("app.quit", "quit"))
    OTHER_KEYS = (("↑ ↓", "scroll"),)

    def __init__(self, runs: tuple[Run, Run], labels: tuple[str, str]) -> None:
        super().__init__()
        self._runs, self._labels = runs, labels
        self._found: RunComparison | None = None
        # Held rather than queried: the runs may be compared while the screen is being left.
        self._text = Static(id="comparison-text", markup=False)
        self._view = VerticalScroll(self._text, id="comparison")

    def compose(self) -> ComposeResult:
        yield TopBar()
        yield self._view
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(TopBar).show_place("Two runs")
        self._draw()
        start_worker(self, self._compare)

    def fit(self, wide: bool, tall: bool) -> None:
        super().fit(wide, tall)
        self.call_after_refresh(self._draw)

    async def _compare(self) -> None:
        self._found = await background.in_thread(_compared, *self._runs)
        self._draw()

    def _draw(self) -> None:
        if not self.is_attached:
            return
        heads = [
            Content.assemble((f"{letter}  ", "bold"), label)
            for letter, label in zip("AB", self._labels, strict=True)
        ]
        parts = [Content("\n").join(heads)]
        if self._found is not None:
            parts += _tables(self._found, self._view.scrollable_content_region.width or 76)
        self._text.update(Content("\n\n").join(parts))


def _compared(one: Run, other: Run) -> RunComparison:
    from tcptutor.history.comparison import compare  # noqa: PLC0415  # with the analysis, which takes 0.1 s

    return compare(one, other)


def _tables(found: RunComparison, width: int) -> list[Content]:
    head = ("What differs", "A", "B")
    rows = [head, *((each.name, each.one, each.other) for each in found.settings)]
    names = max(len(row[0]) for row in rows)
    column = max(10, min(max(len(cell) for row in rows for cell in row[1:]), (width - names - 2 * _GAP) // 2))
    lines = table(rows, [names, column, column], indent=0, gap=_GAP, fold=True)
    parts = [_titled(lines) if found.settings else Content("The settings are equal.")]
    if found.results:
        lines = table(
            [("Results", "A", "B", "B against A"), *found.results], indent=0, gap=_GAP, right=_RIGHT
        )
        same = f"The same in both: {', '.join(found.same)}." if found.same else ""
        parts.append(_titled([*lines, *(wrapped(same, width) if same else [])]))
    else:
        parts.append(Content("The results are equal." if found.same else "Nothing was measured."))
    if found.history:
        parts.append(Content("\n".join(wrapped(found.history, width))))
    return parts


def _titled(lines: Sequence[str]) -> Content:
    return Content.assemble((lines[0], "bold"), "\n", "\n".join(lines[1:]))


class OverlayScreen(TutorScreen):
    """Throughput and cwnd of up to eight runs over each other; Esc returns to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "turn", "view", id="overlay.turn", tooltip="throughput or cwnd first"),
        Binding("escape", "dismiss", "back", id="overlay.back", tooltip="back to the runs"),
    ]
    FOOTER = (
        ("overlay.turn", "throughput / cwnd"),
        ("overlay.back", "back to the runs"),
        ("app.keys", "keys"),
        ("app.quit", "quit"),
    )
    OTHER_KEYS = ()

    def __init__(self, runs: Sequence[Run], names: Sequence[str]) -> None:
        super().__init__()
        self._runs, self._names = runs, names
        self._panel = OverlayPanel()

    def compose(self) -> ComposeResult:
        yield TopBar()
        yield self._panel
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(TopBar).show_place(f"{len(self._runs)} runs over each other")
        start_worker(self, self._load)

    async def _load(self) -> None:
        found = []
        for run, name in zip(self._runs, self._names, strict=True):
            found.append(OverlaidRun(await background.in_thread(comparison_run, run), name))
        self._panel.show(found)

    def action_turn(self) -> None:
        self._panel.turn()


_KINDS = {"r": ("tcprun", "run file"), "c": ("csv", "CSV, a row per instant"), "j": ("json", "JSON")}


class ExportScreen(ModalScreen[str]):
    """Dialog to choose a format; writes to `folder`, and returns a description of the export, or an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(key, f"export('{kind}')", about, id=f"export.{kind}")
            for key, (kind, about) in _KINDS.items()
        ),
        Binding("escape,x", "dismiss('')", "close", id="export.close"),
    ]

    def __init__(self, runs: Sequence[ListedRun], folder: Path) -> None:
        super().__init__()
        self._listed, self._folder = runs, folder

    def compose(self) -> ComposeResult:
        number = len(self._listed)
        with Vertical(id="confirm") as box:
            box.border_title = (
                f"Export {'this run' if number == 1 else f'{number} runs'} into the current folder"
            )
            yield Static(f"{self._folder}\nExisting files stay.", id="export-said", markup=False)
            entries = [FooterKey(((key, key),), about) for key, (_, about) in _KINDS.items()]
            yield KeyBar(*entries, FooterKey((("Esc", "escape"),), "back"))

    async def action_export(self, kind: str) -> None:
        try:
            written = await asyncio.to_thread(_export, self._listed, kind, self._folder)
        except TutorError as error:
            self.query_one("#export-said", Static).update(Content.styled(f"✗ {error}", "$error"))
            return
        more = f" and {len(written) - 1} more" if len(written) > 1 else ""
        self.dismiss(f"Written: {written[0].name}{more}, in {self._folder}.")


def _export(runs: Sequence[ListedRun], kind: str, folder: Path) -> list[Path]:
    """Write the runs and return the files. Raises TutorError."""
    from tcptutor.exchange.export import export_files  # noqa: PLC0415  # with the analysis

    writes: dict[Path, Callable[[], object]] = {}
    for each in runs:
        target = folder / f"{each.id}.{kind}"
        if kind == "tcprun":
            writes[target] = partial(_copy, each.file, target)
        else:
            writes |= {
                file.path: file.write for file in export_files(load(each.file), each.file, kind, target)
            }
    if existing := next((each for each in writes if each.exists()), None):
        raise TutorError(f"{existing.name} exists already: remove it, or start tcptutor in another folder")
    for write in writes.values():
        write()
    return list(writes)


def _copy(source: Path, target: Path) -> None:
    with files.atomic(target, "start tcptutor in another folder") as temporary:
        shutil.copyfile(source, temporary)
