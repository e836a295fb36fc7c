"""Formulations of the replication family."""
