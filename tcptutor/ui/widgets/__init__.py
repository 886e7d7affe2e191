"""Widgets by region of the screen: status lines, page, bench (the run), sweep, terminal, workbench."""
