"""The command line of ioopt: one click command in each file."""
