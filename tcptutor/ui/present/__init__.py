"""Views of a lecture for a room: slides with large letters, figures, runs and votes."""
