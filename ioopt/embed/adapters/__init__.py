"""Adapters: ioopt's decisions carried out by real schedulers."""
