"""Endpoints: Unix sockets, IPv6, ports in use, and those that cannot be bound."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from lacks import needs
from replay import InThread
from simulations import ANY_PORT, SIMULATION, Everywhere, types, whole

from batprotocol.edc import run, serve

WITHOUT_ENGINE = True


@needs("socket.AF_UNIX")
def test_unix_sockets(tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"
    for _ in range(2):
        batsim = InThread(whole)
        run(Everywhere(), endpoint, on_bound=batsim)
        batsim.join()
    assert not list(tmp_path.iterdir())


@needs("socket.AF_UNIX")
def test_a_stale_unix_socket_is_harmless(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(f"{tmp_path}/edc.sock")
    with serve(f"ipc://{tmp_path}/edc.sock") as server:
        assert server.endpoint == f"ipc://{tmp_path}/edc.sock"


@needs("socket.AF_UNIX")
def test_a_unix_socket_in_use_is_not_taken_over(tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"
    with serve(endpoint) as server:
        with pytest.raises(OSError, match="another program listens there") as caught:
            serve(endpoint)
        assert caught.value.filename == endpoint
        batsim = InThread(whole)
        batsim(server.endpoint)
        assert [turn.message for turn in server] == SIMULATION
        batsim.join()


@needs("socket.AF_UNIX")
@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder"])
def test_what_is_no_socket_is_left_alone(tmp_path: Path, kind: str) -> None:
    path, precious = tmp_path / "edc.sock", tmp_path / "precious"
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("precious")
    else:
        path.symlink_to(precious)
    if kind == "link":
        precious.write_text("precious")
    before = sorted(os.listdir(tmp_path)), os.lstat(path)
    with pytest.raises(OSError, match="there is a file that is not a socket: pick another path") as caught:
        serve(f"ipc://{path}")
    assert caught.value.filename == f"ipc://{path}"
    after = sorted(os.listdir(tmp_path)), os.lstat(path)
    assert (after[0], after[1].st_ino, after[1].st_size) == (before[0], before[1].st_ino, before[1].st_size)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_ipv6() -> None:
    """Where the machine has none, that is what is said."""
    if not has_ipv6():
        with pytest.raises(OSError, match="no such address"):
            serve("tcp://[::1]:*")
        return
    batsim = InThread(whole)
    run(Everywhere(), "tcp://[::1]:*", on_bound=batsim)
    assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]


def test_a_port_in_use() -> None:
    with serve(ANY_PORT) as server, pytest.raises(OSError, match=r"[Aa]ddress already in use") as caught:
        serve(server.endpoint)
    assert caught.value.filename == server.endpoint


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        ("nonsense", "this is not an endpoint"),
        ("tcp://127.0.0.1", "this is not an endpoint"),
        ("tcp://no.such.host.invalid:1", "this machine has no such address"),
        ("ipc:///no/such/folder/edc.sock", "No such file"),
        pytest.param("ipc:///tmp/" + "x" * 103, "more than 107 bytes", marks=needs("socket.AF_UNIX")),
        ("udp://127.0.0.1:1", "not compatible"),
        ("", "this is not an endpoint"),
        ("tcp://*:99999", "a port is a number up to 65535"),
        ("tcp://127.0.0.1:65536", "a port is a number up to 65535"),
        ("tcp://127.0.0.1:-5", "a port is a number up to 65535"),
        ("tcp://127.0.0.1:28x", "a port is a number up to 65535"),
        ("tcp://[::1]:99999", "a port is a number up to 65535"),
    ],
)
def test_endpoints_that_cannot_be_bound(endpoint: str, reason: str) -> None:
    with pytest.raises(OSError, match=reason) as caught:
        serve(endpoint)
    assert caught.value.filename == endpoint
