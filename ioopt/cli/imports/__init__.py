"""Readers of other programs' files as commands."""
