"""The version of ioopt, for everything that states it."""

__version__ = "0.3.0"
