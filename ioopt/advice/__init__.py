"""Advise an administrator: estimate how much run time I/O policies and settings would
save on the jobs of a log.
"""
