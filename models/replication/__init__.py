"""Formulations and bounds of the replication family."""
