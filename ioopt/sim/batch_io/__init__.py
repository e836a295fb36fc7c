"""Simulate batch I/O by the rules of docs/rules/batch-io.md, plain or compiled."""
