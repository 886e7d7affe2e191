"""Plain-text dialogue of the course, for screen readers, braille displays, plain terminals and pipes.

Alternative to `ui/` without drawings, cursor movements and imports of textual.
"""
