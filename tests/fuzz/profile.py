"""How many random inputs are tried: few and always the same ones, or many (`make fuzz`)."""

import os

from hypothesis import HealthCheck, settings

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"

TIMES = 6
"""How many times as many inputs a long run tries of everything."""

_usual = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("suite", derandomize=True, database=None, **_usual)
settings.register_profile("long", **_usual)
settings.load_profile("long" if LONG else "suite")


def examples(number):
    """Settings of a test that tries so many inputs in the suite."""
    return settings(max_examples=number * (TIMES if LONG else 1))
