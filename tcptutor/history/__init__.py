"""The student's stored runs: an index of their results, names, deletion with undo, and comparison of two."""
