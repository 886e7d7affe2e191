"""Terminal emulation without widgets: bytes to cells, keys to bytes."""
