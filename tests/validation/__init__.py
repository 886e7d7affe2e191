"""The models against the lab, over a whole plan of cells: `python -m tests.validation`.

The plan (`plan`) says which cells there are. `sweep` runs what is missing and keeps a row of each in `results`, one
file a study, with the commit that made it. `report` writes assets/documentation/validation.md and its plots from the
rows alone.
"""
