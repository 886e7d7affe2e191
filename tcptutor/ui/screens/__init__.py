"""Home, lesson, keys, and the message for a terminal that is too small."""
