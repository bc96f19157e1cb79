"""Corpora on other machines: where they are, and the addresses that are not asked for them.

Front matter may come with somebody else's study. Without `--allow-local` it has no text fetched
from this machine or from a private network. What counts is the address that a connection is made
to, whoever makes it: so after names are resolved, and after every redirect. Python reports each
connection to an audit hook before it is made (PEP 578), and the hook refuses it.
"""

import errno
import functools
import ipaddress
import os
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlsplit

from report.errors import ReportError
from report.text import quoted

HERE = ("", "file", "local", "memory")
"""Protocols of fsspec that ask no other machine."""

SERVICES = {
    "http": "",
    "https": "",
    "hf": ("HF_ENDPOINT", "the Hugging Face hub"),
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "Amazon S3"),
    "s3a": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "Amazon S3"),
    "gs": ("STORAGE_EMULATOR_HOST", "Google Cloud Storage"),
    "gcs": ("STORAGE_EMULATOR_HOST", "Google Cloud Storage"),
    "az": ("Azure storage",),
    "abfs": ("Azure storage",),
    "abfss": ("Azure storage",),
}
"""Protocols that are read without `--allow-local` -> variables that name the service, and what it
is called without them. All of these connect through Python; others may do it unseen."""

EMBEDDING = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96"))
"""IPv6 networks whose last 32 bits are an IPv4 address: NAT64, and the form of old."""

ADDRESS = re.compile(r"\[[^]/]*\]")
"""An IPv6 address in the place of a host."""

Item = TypeVar("Item")


def is_remote(file: str) -> bool:
    """Whether the texts of a corpus come from another machine."""
    return _is_chain(file) or _protocol(file) not in HERE


def origin(file: str) -> str:
    """Where a file on another machine is fetched from: its address without a password, and the
    service that holds it."""
    public = without_secrets(file)
    *variables, service = SERVICES.get(_protocol(public)) or [""]
    service = next(filter(None, map(os.environ.get, variables)), service)
    return f"{public} ({service})" if service else public


def without_secrets(file: str) -> str:
    """What may be shown of the address of a file on another machine: no user and no password, and
    of a web address nothing behind "?" or "#", which may be a signature. A path stays as it is."""
    last = file.rpartition("::")[2] if _is_chain(file) else file
    protocol, there, rest = last.partition("://")
    if not there or not is_remote(last):
        return last
    if protocol.lower() in ("http", "https"):
        # the host ends where clients of the web have it end, whatever stands behind
        rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = rest.partition("/")
    return f"{protocol}://{host.rpartition('@')[2]}{slash}{path}"


def require_public(file: str) -> None:
    """Stop for a file that only `--allow-local` reads, as far as that is known before it is asked.

    raises: ReportError if its protocol may lead anywhere, or its host is this machine or in a
        private network; a host whose name nobody knows passes, as nothing can be fetched from it
    """
    protocol = _protocol(file)
    if _is_chain(file) or protocol not in SERVICES:
        listed = ", ".join(f"{name}://" for name in SERVICES)
        raise ReportError(
            f"{quoted(origin(file))} is read in a way that may reach machines of a private "
            f"network; give a file on this machine or one of {listed}, or say --allow-local on "
            "the command line"
        )
    if SERVICES[protocol]:
        return
    try:
        host = urlsplit(file).hostname
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):  # ValueError: no host, or no name that a host can have
        return
    for *_, address in addresses:
        if is_local(address[0]):
            raise _refusal(file, address[0])


def is_local(address: str) -> bool:
    """Whether an IP address is of this machine, of a private network, or otherwise not public.

    address: as connections are made to; anything else counts as local, since nobody can tell
    """
    try:
        ip = ipaddress.ip_address(str(address).partition("%")[0])
    except ValueError:
        return True
    inner = _embedded(ip)
    if inner is not None:
        return is_local(str(inner))
    site_local = getattr(ip, "is_site_local", False)
    return not ip.is_global or ip.is_multicast or ip.is_reserved or site_local


def only_public(items: Iterator[Item], file: str) -> Iterator[Item]:
    """The same items, no connection being made to a local address while they are fetched.

    file: what messages call their source
    raises: ReportError for such an address; else what `items` raises
    """
    end = object()
    while True:
        with _watching(file):
            item = next(items, end)
        if item is end:
            return
        yield item


def _is_chain(file):
    """Whether a file is read through one protocol of fsspec after the other, "zip://a.txt::…"."""
    return "::" in ADDRESS.sub("", file)


def _protocol(file):
    return file.partition("://")[0].lower() if "://" in file else ""


def _embedded(ip):
    """The IPv4 address that an IPv6 address stands for, or None."""
    if ip.version == 4:
        return None
    if any(ip in network for network in EMBEDDING) and int(ip) > 1:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


def _refusal(file, address):
    return ReportError(
        f"{quoted(origin(file))} leads to {address}, an address of this machine or of a private "
        "network; give one that is public, or say --allow-local on the command line"
    )


_watched: dict[int, list[str]] = {}
"""Id of a thread that reads what must be public -> addresses it was refused."""


@contextmanager
def _watching(file):
    """Within the context, this thread is refused local addresses; so is the thread of fsspec."""
    _install()
    refused = _watched[threading.get_ident()] = []
    try:
        yield
    except Exception as error:  # libraries make errors of their own of a refused connection
        if refused:
            raise _refusal(file, refused[0]) from error
        raise
    finally:
        del _watched[threading.get_ident()]


@functools.cache
def _install():
    """Add the hook, once in a process: hooks cannot be taken away."""
    sys.addaudithook(_hook)


def _hook(event, arguments):
    if event != "socket.connect" or not _watched:
        return
    refused = _refused_here()
    address = arguments[1]
    if refused is not None and isinstance(address, tuple) and is_local(address[0]):
        refused.append(address[0])
        raise PermissionError(errno.EACCES, "this address is refused")


def _refused_here():
    """The list for what is refused to this thread, or None for a thread that is not watched."""
    refused = _watched.get(threading.get_ident())
    if refused is not None:
        return refused
    from fsspec.asyn import iothread

    if threading.current_thread() is iothread[0]:  # connects for whoever reads
        return next(iter(_watched.values()), None)
    return None
