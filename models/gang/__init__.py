"""Formulations and bounds of the gang family."""
