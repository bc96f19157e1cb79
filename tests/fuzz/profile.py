"""How many random inputs are tried: few and always the same ones, or many (`make fuzz`)."""

import os

from hypothesis import HealthCheck, settings

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"

TIMES = 6
"""A long run tries so many times the inputs that a test asks for."""

MOST = 12
"""Inputs of a test in the suite, at most."""

_usual = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("suite", derandomize=True, database=None, **_usual)
settings.register_profile("long", **_usual)
settings.load_profile("long" if LONG else "suite")


def examples(number):
    """Settings of a test with so many inputs: at most MOST in the suite, TIMES as many by fuzz."""
    return settings(max_examples=number * TIMES if LONG else min(number, MOST))
