"""Implementations of the commands, a file each; `main` has the command line."""
