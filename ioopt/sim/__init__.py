"""Simulators: one per family, over a shared fluid bandwidth model and event clock."""
