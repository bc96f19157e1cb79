"""The connection to a Ray cluster, and one sentence if there is none."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType

from report.errors import ReportError, UsageError

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no usage statistics
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # workers use the Python of their machine
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Defaults of environment variables that Ray reads when it is imported."""

ADDRESS = re.compile(r"(?P<host>[^\s/:]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")
ANSWERS = 10
"""Seconds within which a machine must answer; Ray itself would try for minutes."""


def require_ray() -> ModuleType:
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
def connected(address: str) -> Iterator[ModuleType]:
    """Within the context, this process is the driver of a Ray cluster; yields the module ray.

    address: "auto" for the cluster that this machine belongs to, "local" for a cluster on this
        machine that ends with the context and that no other machine reaches, or host:port
    raises: ReportError if there is no such cluster; UsageError if Ray is not installed
    """
    ray = require_ray()
    _require_answer(address)
    options = {"include_dashboard": False} if address == "local" else {}
    with _on_loopback(ray) if address == "local" else nullcontext():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="critical", **options)
        except Exception as error:  # Ray raises many kinds
            said = " ".join(str(error).split())[:200].rstrip(".")
            raise _not_there(address, said) from error
    try:
        if address == "local":
            _require_loopback(ray)
        # Ray prints a line for every worker that died; the summary does that. (For debuggers.)
        ray._private.worker._worker_logs_enabled = False
        yield ray
    finally:
        ray.shutdown()


LOOPBACK = "127.0.0.1"
"""The address that only this machine reaches."""


@contextmanager
def _on_loopback(ray):
    """Within the context, Ray starts a cluster that other machines do not reach.

    Ray does so on systems where firewalls ask about every port (macOS), and takes no option for it:
    an address of this machine alone, such as `_node_ip_address`, is replaced by one for others.
    """
    constants = ray._private.ray_constants
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def _require_loopback(ray):
    """Stop if the cluster that was started could be reached by others: Ray runs what they send."""
    listening = ray.util.get_node_ip_address()
    if listening != LOOPBACK:
        raise ReportError(
            f"this version of Ray ({ray.__version__}) would listen on {listening}, where other "
            "machines reach it; install the version in `locks/`, or leave --ray out"
        )


def require_address(address: str) -> re.Match | None:
    """The match of `ADDRESS`, or None for auto and local; UsageError for anything else."""
    if address in ("auto", "local"):
        return None
    match = ADDRESS.fullmatch(address)
    if not match or int(match["port"]) > 65535:
        raise UsageError(
            f"--ray {address!r} is no address; say auto, local, or host:port, such as 10.0.0.1:6379"
        )
    return match


def _require_answer(address):
    """Stop for an address where nothing listens."""
    match = require_address(address)
    if match is None:
        return
    host, port = match["host"].strip("[]"), int(match["port"])
    try:
        socket.create_connection((host, port), ANSWERS).close()
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
