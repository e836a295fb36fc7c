"""Figures: one function a file, data in, matplotlib axes out."""
