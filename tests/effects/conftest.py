"""Fixtures of the tests of effects."""

from tests.effects.asking import smollm2

__all__ = ["smollm2"]
