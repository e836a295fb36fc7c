"""Simulate the plans and policies of every problem family."""
