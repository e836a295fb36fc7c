"""Formulations of the batch_io family."""
