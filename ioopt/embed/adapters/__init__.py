"""Adapters that let real schedulers carry out the decisions of ioopt."""
