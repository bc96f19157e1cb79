"""Attention Focus Plots: from a language model and a passage to an interactive publication."""

import os
from importlib import import_module

from report.errors import VERSION, end_quietly

os.environ |= {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
os.environ.pop("GOMP_SPINCOUNT", None)
"""Threads of torch wait for each other asleep, whatever the environment says. Else they spin, and
where other work runs beside, a corpus takes six times as long. It counts where torch is loaded
after this package."""

os.environ["OPENBLAS_NUM_THREADS"] = "1"
"""numpy multiplies small matrices here, for which threads would only wait for each other: beside
other work, forty times as long. Numbers are then those of the processes that write heads, too. It
counts where numpy is loaded after this package; torch has threads of its own."""

__version__ = VERSION

__all__ = ["__version__", "figure", "load", "measure"]


def __getattr__(name):
    """`from report import load, figure`: what notebooks use, loaded when it is asked for."""
    if name in ("figure", "load", "measure"):
        return getattr(import_module("report.notebook"), name)
    raise AttributeError(f"module 'report' has no attribute {name!r}")


def program():
    """The command line in a process of its own."""
    end_quietly()
    import_module("report.__main__").program()
