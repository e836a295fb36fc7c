"""What :mod:`fuzzing` damages, how, and how it runs what reads it."""
