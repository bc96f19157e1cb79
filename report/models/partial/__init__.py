"""Models whose weights are not all in memory."""
