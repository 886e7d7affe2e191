"""A terminal's inside, without any widget: bytes to cells, keys to bytes."""
