"""Divide a batch into rounds that fit limited disks, for all nodes or down a tree."""
