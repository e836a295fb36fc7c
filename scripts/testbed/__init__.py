"""Carry plans out: real files over TCP, on this machine alone.

:mod:`testbed.executor` starts what a plan says and waits for what really happens;
:mod:`testbed.agent` stores, sends and receives the files of one node;
:mod:`testbed.network` gives each node a network interface of a limited rate.
"""
