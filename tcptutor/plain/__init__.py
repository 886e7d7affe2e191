"""The course as a dialogue of lines, for screen readers, braille displays, plain terminals and pipes.

A second front next to `ui/`: it draws nothing, moves no cursor and imports no textual.
"""
