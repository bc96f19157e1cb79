"""Tests of whole sites; most look at one, built once."""

SITE = "publication/site"
"""Its folder in the folder that all processes of a run share."""
