"""Writes the folder of datasets of one model, the manifest last."""
