"""Adapters by which real schedulers carry out ioopt's decisions."""
