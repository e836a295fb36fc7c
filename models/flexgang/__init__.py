"""Formulations of the flexgang family."""
