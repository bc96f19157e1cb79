"""Reaches the attention of every layer while a model runs."""
