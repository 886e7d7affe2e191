"""The README's pictures: `python -m tests.pictures [NAME ...]` draws them in assets/pictures/.

A student does some pages with the bundled recordings, so the pictures need no lab and come out the same each time.
"""
