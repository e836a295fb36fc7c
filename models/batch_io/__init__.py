"""Formulations and bounds of the batch I/O family."""
