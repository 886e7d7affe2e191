"""Paths through the course: a page is essential, or goes deeper; a student follows the essentials, or everything."""

from __future__ import annotations

from typing import Literal

PagePath = Literal["essential", "deeper"]
"""Key `path` of a page."""
