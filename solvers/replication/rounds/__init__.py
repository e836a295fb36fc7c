"""Divide a batch into rounds that fit limited disks, over all nodes or down a tree."""
