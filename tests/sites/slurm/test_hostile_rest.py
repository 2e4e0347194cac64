"""Servers that attack the clients of slurmrestd and of OAR: time, memory, and only our exceptions.

Each attack that takes memory is done on a process of its own, whose peak is that of the whole process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import pytest
from hostile_servers import LATE, Script, chunked, hostile_server, sized
from support import ROOT

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

MIB: Final = 300
SPEC: Final = sized(b'{"paths":{"/slurm/v0.0.38/jobs":{}}}')
PIECE: Final = 1 << 20


NOTHING: Final = sized(b'{"items":[]}')


def asked(kind: str, script: Script, folder: Path, seconds: float) -> dict[str, Any]:
    """What happened to a process that asked a server, which attacks with its answer about jobs or resources."""

    def after(first: str) -> Iterable[bytes]:
        if first.endswith("/openapi/v3"):
            return [SPEC]
        attacked = {"slurm": "/jobs", "oar": "jobs/details", "oar-resources": "resources/full"}[kind]
        return script(first) if attacked in first else [NOTHING]

    program = [sys.executable, str(ROOT / "tests" / "sites" / "slurm" / "hostile_clients.py"), kind.partition("-")[0]]
    with hostile_server(after) as address:
        line = [*program, address, str(seconds), str(folder)]
        done = subprocess.run(line, check=True, capture_output=True, text=True, timeout=300)
    found: dict[str, Any] = json.loads(done.stdout)
    print(kind, {name: round(each, 1) if isinstance(each, float) else each for name, each in found.items()})
    assert found["mib"] <= MIB
    assert found["said"].isprintable()
    return found


def of_bytes(before: bytes, piece: bytes, after: bytes, total: int) -> Script:
    """An answer with one text that repeats a piece."""

    def script(_: str) -> Iterator[bytes]:
        count = (total - len(before) - len(after)) // len(piece)
        at_once = max(PIECE // len(piece), 1)
        yield from chunked(
            [before, *repeat(piece * at_once, count // at_once), piece * (count % at_once), after]
            if count % at_once
            else [before, *repeat(piece * at_once, count // at_once), after]
        )

    return script


ITEMS: Final[dict[str, tuple[bytes, bytes]]] = {
    "empty objects": (b"{},", b"{}]}"),
    "numbers": (b"0,", b"0]}"),
    "lists": (b"[],", b"[]]}"),
    "brackets": (b"[", b""),
    "braces": (b'{"a":', b""),
    "a text": (b"x", b""),
}
FULL: Final = {
    "slurm": b'{"user_name":"alice","job_id":1,"array_job_id":1,"array_task_string":"0-65535","name":"n",'
    b'"job_state":"R","state_reason":"","batch_host":"","user_id":1,"array_task_id":null},',
    "oar": b'{"id":1,"state":"Running","owner":"alice","command":": m.1;","events":[{},{}],"resources":[{"id":1},{}],'
    b'"nodes":[{}],"exit_code":1,"start_time":1,"stop_time":1,"array_id":1,"stdout_file":"a","stderr_file":"b"},',
}
TEXT: Final = {
    "slurm": b'{"user_name":"alice","job_id":1,"name":"',
    "oar": b'{"id":1,"state":"Running","owner":"alice","command":": m.1;","stdout_file":"',
}
MOST: Final = {"slurm": 150 << 20, "oar": 32_000_000}
LIST: Final = {"slurm": b'{"jobs":[', "oar": b'{"links":[{"rel":"next"}],"items":['}
WIDE: Final = "\U0001f600".encode()
"""A character for which each character of its text takes four bytes."""


@pytest.mark.parametrize("kind", ["slurm", "oar", "oar-resources"])
@pytest.mark.parametrize("attack", [*ITEMS, "full jobs", "long names", "one name", "without an end"])
def test_memory(kind: str, attack: str, tmp_path: Path) -> None:
    of = kind.partition("-")[0]
    before, total, full, text = LIST[of], MOST[of] - 1000, FULL[of], TEXT[of]
    if kind == "oar-resources":
        full = text = b'{"id":1,"state":"Alive","resource_id":"'
        full += b'a"},'
    if attack in ITEMS:
        script = of_bytes(before, *ITEMS[attack], total)
    elif attack == "full jobs":
        script = of_bytes(before, full, full[:-1] + b"]}", total)
    elif attack == "long names":
        long = b"x" * (15_000 if kind != "oar-resources" else 990)
        script = of_bytes(before, text + long + WIDE + b'"},', full[:-1] + b"]}", total)
    elif attack == "one name":
        script = of_bytes(before + text, b"x", WIDE + b'"}]}', total)
    else:
        script = of_bytes(before, full, b"", 10 * total)
    assert asked(kind, script, tmp_path, 60)["seconds"] <= 61


@pytest.mark.parametrize("kind", ["slurm", "oar"])
@pytest.mark.parametrize("attack", LATE)
def test_time(kind: str, attack: str, tmp_path: Path) -> None:
    found = asked(kind, LATE[attack], tmp_path, 1.0)
    assert "within 1 s" in found["said"]
    assert found["seconds"] <= 2


def test_pages_without_an_end(tmp_path: Path) -> None:
    """Each of them is small and quick: there is a limit on their number."""
    page = sized(LIST["oar"] + FULL["oar"][:-1] + b"]}")
    assert "on more than 2000 pages" in asked("oar", lambda _: [page], tmp_path, 60)["said"]


def test_a_great_cluster_is_read(tmp_path: Path) -> None:
    """20,000 jobs of other users with all that slurmrestd lists, and one of ours: 140 MiB."""
    job = json.loads((ROOT / "tests" / "data" / "slurm_client" / "jobs.json").read_text())["jobs"][0]
    other = json.dumps({**job, "user_name": "bob", "comment": "x" * (7300 - len(json.dumps(job)))}).encode() + b","
    ours = json.dumps({**job, "user_name": "alice"}).encode() + b"]}"
    assert asked("slurm", of_bytes(b'{"jobs":[', other, ours, 140 << 20), tmp_path, 60)["said"] == "1 jobs"
