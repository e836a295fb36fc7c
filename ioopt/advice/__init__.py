"""Advise an administrator: estimate what I/O policies and settings would save on the
jobs of a log.
"""
