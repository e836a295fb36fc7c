"""Readers and writers of the files ioopt understands."""
