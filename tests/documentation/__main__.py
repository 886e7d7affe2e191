"""Write assets/documentation/settings.md: `python -m tests.documentation`; claims.md: `python -m tests.documentation
claims`.
"""

import sys

from tests.documentation import claims, settings

if sys.argv[1:] == ["claims"]:
    claims.PAGE.write_text(claims.page(claims.results()), encoding="utf-8")
else:
    settings.PAGE.write_text(settings.page(), encoding="utf-8")
