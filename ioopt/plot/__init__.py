"""Draw figures from data as matplotlib axes; each module draws one kind of figure."""
