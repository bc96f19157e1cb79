"""Runs a model and measures it: on a passage, on conditions, on a table, over a corpus."""
