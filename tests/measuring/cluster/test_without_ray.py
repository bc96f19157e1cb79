"""What the command line says where Ray is missing, or no cluster is there."""

import socket
import sys

import pytest

from report.errors import ReportError, UsageError
from report.measuring.cluster import driver
from tests.cli.conftest import options, project, run  # noqa: F401
from tests.commands import contents


@pytest.mark.parametrize("address", ["local", "auto", "10.0.0.1:6379"])
def test_without_ray_it_says_what_to_install(run, options, project, monkeypatch, address):  # noqa: F811
    monkeypatch.setitem(sys.modules, "ray", None)
    before = contents(project)
    done = run("measure", "--ray", address, *options)
    assert done.code == 2
    assert "--ray needs the package 'ray', which is not installed" in done.error
    assert "`pip install '.[measure,cluster]'`" in done.error
    assert contents(project) == before


def test_without_ray_everything_else_works_as_before(run, options, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "ray", None)
    done = run("measure", *options)
    assert done.code == 0
    assert "small: measured (" in done.said


@pytest.mark.parametrize("address", ["cluster", "host:port", "ray://10.0.0.1:10001", "", "a:99999"])
def test_what_is_no_address_is_refused(run, options, address):  # noqa: F811
    done = run("measure", "--ray", address, *options)
    assert done.code == 2
    assert "is no address; say auto, local, or host:port, such as 10.0.0.1:6379" in done.error


def test_where_nothing_listens_it_is_told_at_once(run, options):  # noqa: F811
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        done = run("measure", "--ray", address, *options)
    assert done.code == 1
    assert f"cannot connect to a Ray cluster: there is none at {address} (" in done.error
    assert "`ray start --head`" in done.error


def test_a_host_that_does_not_exist_is_told():
    with pytest.raises(ReportError, match=r"there is none at nowhere\.invalid:6379 \("):
        driver._require_answer("nowhere.invalid:6379")


def test_a_missing_part_of_ray_is_no_missing_ray(monkeypatch):
    """Only the package's own absence is answered with a hint to install it."""

    class Broken:
        def find_spec(self, name, *_):
            if name == "ray":
                raise ModuleNotFoundError("No module named 'msgpack'", name="msgpack")

    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    for name in [name for name in sys.modules if name.partition(".")[0] == "ray"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match="msgpack") as raised:
        driver.require_ray()
    assert not isinstance(raised.value, UsageError)
