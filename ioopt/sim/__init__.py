"""Simulate the families over a shared fluid bandwidth model and event clock."""
