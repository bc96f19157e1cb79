"""Checkpoints whose weights are packed into fewer bits, read as the numbers that they stand for."""
