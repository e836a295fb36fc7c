"""Formulations of the gang family."""
