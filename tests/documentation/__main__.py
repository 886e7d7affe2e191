"""Write assets/documentation/settings.md: `python -m tests.documentation`; claims.md: `python -m tests.documentation
claims [MODULE/PAGE...]`; the man page tcptutor.1: `python -m tests.documentation man`;
lessons.md: `python -m tests.documentation lessons`; the table of keys: `python -m tests.documentation keys`.
"""

import sys

from tests.documentation import claims, key_actions, lesson_files, manual, settings

if sys.argv[1:2] == ["claims"]:
    names = sys.argv[2:]
    before = claims.PAGE.read_text(encoding="utf-8") if names else ""
    claims.PAGE.write_text(claims.page(claims.results(names), before), encoding="utf-8")
elif sys.argv[1:2] == ["man"]:
    manual.PAGE.write_text(manual.page(), encoding="utf-8")
elif sys.argv[1:2] == ["keys"]:
    key_actions.PAGE.write_text(key_actions.page(), encoding="utf-8")
elif sys.argv[1:2] == ["lessons"]:
    lesson_files.PAGE.write_text(lesson_files.page(), encoding="utf-8")
else:
    settings.PAGE.write_text(settings.page(), encoding="utf-8")
