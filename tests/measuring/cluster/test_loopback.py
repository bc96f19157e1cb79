"""What `--ray local` starts is reached from this machine alone."""

import ipaddress
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from report.errors import ReportError
from report.measuring.cluster import driver
from tests.commands import ROOT

pytestmark = pytest.mark.promise("ray-loopback")

LISTENING = """
import json, psutil
from report.measuring.cluster.driver import connected
with connected("local") as ray:
    ray.get(ray.remote(lambda: None).remote())
    ours = psutil.Process()
    found = [
        (process.name(), socket.laddr.ip)
        for process in [ours, *ours.children(recursive=True)]
        for socket in process.net_connections("inet")
        if socket.status == psutil.CONN_LISTEN
    ]
print(json.dumps(found))
"""
"""Prints name of the process and address of every port of a cluster that measures on one machine;
in a process of its own, as Ray keeps settings of the first cluster for the next."""


def test_nothing_listens_where_other_machines_reach_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LISTENING],
        env=os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = " ".join(name for name, _ in found)
    for part in ("gcs_server", "raylet", "ray::"):  # the last is a worker
        assert part in names
    # an address of IPv4 may be written as one of IPv6
    plain = [(name, address.removeprefix("::ffff:")) for name, address in found]
    assert [pair for pair in plain if not ipaddress.ip_address(pair[1]).is_loopback] == []


def test_a_version_of_ray_that_listens_elsewhere_is_refused(monkeypatch):
    ended = []
    ray = SimpleNamespace(
        __version__="9.9",
        init=lambda **_: None,
        shutdown=lambda: ended.append(True),
        util=SimpleNamespace(get_node_ip_address=lambda: "10.0.0.5"),
        _private=SimpleNamespace(ray_constants=SimpleNamespace(ENABLE_RAY_CLUSTER=True)),
    )
    monkeypatch.setattr(driver, "require_ray", lambda: ray)
    with (
        pytest.raises(ReportError, match=r"Ray \(9\.9\) would listen on 10\.0\.0\.5, where other"),
        driver.connected("local"),
    ):
        pytest.fail("it is not used")
    assert ended == [True]
    assert ray._private.ray_constants.ENABLE_RAY_CLUSTER
