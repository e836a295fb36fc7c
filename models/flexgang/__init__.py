"""Formulations of the flexible gang family."""
