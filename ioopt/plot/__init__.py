"""Draw figures: one function per file, from data to matplotlib axes."""
