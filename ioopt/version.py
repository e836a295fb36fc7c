"""The version of ioopt, for everything that states it."""

__version__ = "0.1.0"
