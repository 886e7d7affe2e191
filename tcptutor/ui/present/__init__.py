"""What a room sees of a lecture: slides with large letters, figures, runs and votes."""
