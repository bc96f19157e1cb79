"""Exits with 0 if the torch that is installed asks for the packages of cuda.txt, else with 1."""

import sys
from importlib.metadata import requires

ASKED = [line for line in requires("torch") or [] if line.startswith(("nvidia-", "cuda-"))]
sys.exit(not (ASKED and sys.platform == "linux"))
