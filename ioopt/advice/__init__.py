"""Advise administrators: estimate how much run time I/O policies and settings would
save for the jobs of a log.
"""
