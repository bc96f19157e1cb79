"""The connection to a Ray cluster, and one sentence where there is none."""

import os
import re
import socket
from contextlib import contextmanager

from report.errors import ReportError, UsageError

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anybody
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # workers use the Python that is installed there
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Environment that Ray reads when it is imported, where nothing else is said."""

ADDRESS = re.compile(r"(?P<host>[^\s/:]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")
ANSWERS = 10
"""Seconds within which a machine has to answer; Ray itself would try for minutes."""


def require_ray():
    """The module ray.

    raises: UsageError if it is not installed
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UsageError(
            "--ray needs the package 'ray', which is not installed; run "
            "`pip install '.[measure,cluster]'` in the folder of the project, or leave --ray out."
        ) from error
    return ray


@contextmanager
def connected(address):
    """Within the context, this process is the driver of a Ray cluster; yields the module ray.

    address: "auto" for the cluster that this machine belongs to, "local" for one that is started
        here and ends with the context, or host:port
    raises: ReportError if there is no such cluster
    """
    ray = require_ray()
    _require_answer(address)
    options = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="critical", **options)
    except Exception as error:  # of many kinds
        said = " ".join(str(error).split())[:200].rstrip(".")
        raise _not_there(address, said) from error
    # Ray tells on stdout of every worker that died; here the summary does. (Its debugger's switch.)
    ray._private.worker._worker_logs_enabled = False
    try:
        yield ray
    finally:
        ray.shutdown()


def require_address(address):
    """The match of `ADDRESS`, or None for auto and local; UsageError for anything else."""
    if address in ("auto", "local"):
        return None
    found = ADDRESS.fullmatch(address)
    if not found or int(found["port"]) > 65535:
        raise UsageError(
            f"--ray {address!r} is no address; say auto, local, or host:port, such as 10.0.0.1:6379"
        )
    return found


def _require_answer(address):
    """Stop for an address where nothing listens."""
    found = require_address(address)
    if found is None:
        return
    try:
        socket.create_connection((found["host"].strip("[]"), int(found["port"])), ANSWERS).close()
    except OSError as error:
        raise _not_there(address, error.strerror or str(error)) from error


def _not_there(address, said):
    where = "no cluster runs here" if address == "auto" else f"there is none at {address}"
    if address == "local":
        where = "it does not start here"
    return ReportError(
        f"cannot connect to a Ray cluster: {where} ({said}). Start one with `ray start --head`, "
        "give its address (--ray host:6379), or say --ray local to use this machine alone"
    )
