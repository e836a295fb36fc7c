"""What :mod:`fuzzing` damages, how it does so, and how it runs the readers."""
