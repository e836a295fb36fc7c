"""Readers of other programs' files as commands: one file a format."""
