"""Write assets/documentation/settings.md: `python -m tests.documentation`."""

from tests.documentation.settings import PAGE, page

PAGE.write_text(page(), encoding="utf-8")
