"""Implementations of the commands, a file each; `command_line` has their declarations."""
