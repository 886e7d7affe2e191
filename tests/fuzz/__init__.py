"""Files that somebody else wrote, mutated by chance: each reader takes them, or refuses them in one line.

`python -m tests.fuzz [N] [READER...] [--from SEED]` gives every reader, or the named ones, N mutated files each (1,000
when not said). A reader fails when it raises anything but TutorError, when its line is not one printable line, when it
takes longer than five seconds or more than 300 MB of memory. A failure is told with its seed, by which it comes again.
"""
