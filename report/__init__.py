"""Attention Focus Plots: from a language model and a passage to an interactive publication."""

import os
from importlib import import_module

from report.errors import VERSION, end_quietly

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
"""Threads of torch wait for each other asleep. Else they spin, and where other work runs beside, a
corpus takes six times as long. It counts where torch is loaded after this package."""

__version__ = VERSION

__all__ = ["__version__", "figure", "measure"]


def __getattr__(name):
    """`from report import measure, figure`: what notebooks use, loaded when it is asked for."""
    if name in ("figure", "measure"):
        return getattr(import_module("report.notebook"), name)
    raise AttributeError(f"module 'report' has no attribute {name!r}")


def program():
    """The command line in a process of its own."""
    end_quietly()
    import_module("report.__main__").program()
