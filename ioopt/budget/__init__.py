"""Answer what a quota on a work directory costs, and which settings keep a run within
the quota.
"""
