"""Advice for an administrator: what an I/O policy would bring on the jobs of a log."""
