"""Requests as lines on standard input: each one gets an answer, also those that no one can read."""

from __future__ import annotations

import json
import queue
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from replay import PATIENCE

pytest.importorskip("mcp")

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Session:
    """A server as a process, by lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._number = 1_000_000
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))

    def send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def answers(self, line: bytes) -> list[Any]:
        """The answers to a line: those that come before the one to a request that follows."""
        self._number += 1
        self.send(line)
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": "ping"}).encode())
        found: list[Any] = []
        while True:
            found.append(self._answers.get(timeout=PATIENCE))
            if found[-1].get("id") == self._number:
                return found[:-1]


@contextmanager
def session(folder: Path) -> Iterator[Session]:
    words = [sys.executable, "-m", "batprotocol", "mcp", str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            found = Session(process)
            assert (
                len(
                    found.answers(
                        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
                    )
                )
                == 1
            )
            assert not found.answers(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
            yield found
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def test_a_request_that_cannot_be_read_is_answered(tmp_path: Path) -> None:
    start = b'{"jsonrpc":"2.0","id":7,"method":'
    with session(tmp_path) as found:
        for line, number, code in (
            (b"nonsense", None, -32700),
            (b'{"id":7', None, -32700),
            (b"\xff\xfe\x00", None, -32700),
            (start + b'"ping","params":' + b"[" * 5000 + b"]" * 5000 + b"}", None, -32700),
            (b"5", None, -32600),
            (b"[]", None, -32600),
            (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None, -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
            (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None, -32600),
            (b'{"jsonrpc":"2.0","method":5}', None, -32600),
            (start + b"5}", 7, -32600),
            (start + b'"tools/call","params":[]}', 7, -32600),
            (start + b'"tools/call","params":{"name":"rules","arguments":{"rule":"\\ud800"}}}', 7, -32600),
            (b'{"jsonrpc":"1.0","id":"seven","method":"ping"}', "seven", -32600),
            (b'{"id":7,"method":"ping"}', 7, -32600),
            (b'{"jsonrpc":"2.0","id":7}', 7, -32600),
            (start + b'"nothing"}', 7, -32601),
            (start + b'"tools/call"}', 7, -32602),
            (start + b'"ping","params":{"x":"' + b"y" * (5 << 20) + b'"}}', None, -32600),
        ):
            (answer,) = found.answers(line)
            assert (answer["id"], answer["error"]["code"]) == (number, code), line[:80]
        for line in (b"", b"  \t", b'{"jsonrpc":"2.0","method":"nothing"}', b'{"jsonrpc":"2.0","id":99,"result":{}}'):
            assert not found.answers(line), line


def expected(line: bytes) -> int:
    """The number of answers to a line: none to a notification, to an answer, and to nothing."""
    if not line.strip():
        return 0
    try:
        found = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return 1
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return 1
    if "method" in found:
        return int(
            "id" in found
            or not isinstance(found["method"], str)
            or not isinstance(found.get("params", {}), dict | None)
        )
    return int(not ("result" in found or "error" in found))


def test_changed_requests_are_answered(tmp_path: Path) -> None:
    draw = random.Random(53)
    lines = (
        b'{"jsonrpc":"2.0","id":7,"method":"ping"}',
        b'{"jsonrpc": "2.0", "id": "seven", "method": "tools/list", "params": {"cursor": null}}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nothing","arguments":{"a":[1,"b",{}]}}}',
    )
    with session(tmp_path) as found:
        for _ in range(400):
            line = bytearray(draw.choice(lines))
            for _ in range(draw.randint(1, 3)):
                place = draw.randrange(len(line))
                part = draw.choice(
                    [b"", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\x00", b"\xff", b"5", b"null", b" "]
                )
                line[place : place + draw.randint(0, 2)] = part
            assert len(found.answers(bytes(line))) == expected(bytes(line)), line
