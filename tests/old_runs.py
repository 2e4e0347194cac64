"""Recorded runs of the older protocols: all of them where they are at hand, else those kept with the tests."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from support import DATA, SHARED, files_of

KEPT = DATA / "legacy"
CORPUS = SHARED / "corpus" / "legacy" if (SHARED / "corpus" / "legacy").is_dir() else KEPT
VERDICTS = SHARED / "verdicts" if (SHARED / "verdicts").is_dir() else KEPT


class OldRun(NamedTuple):
    """A recorded run.

    Attributes:
        name: what it is called.
        version: which Batsim it was, such as "v4.2.1".
        result: "clean", or what went wrong.
        messages: who says it ("b2s", "s2b") and its bytes, in order.
        redis: what was in Redis, by key.
        facts: its `run.json`.
    """

    name: str
    version: str
    result: str
    messages: tuple[tuple[str, bytes], ...]
    redis: dict[str, str]
    facts: dict[str, Any]

    @property
    def is_clean(self) -> bool:
        return self.result == "clean"


@cache
def old_runs() -> tuple[OldRun, ...]:
    """All recorded runs."""
    found = []
    for line in (CORPUS / "INDEX.tsv").read_text().splitlines():
        name, version, _, result, *_ = line.split("\t")
        path = CORPUS / f"{name}.tar.xz"
        if path.is_file():
            found.append(_read(name, version, result, path))
    return tuple(found)


@cache
def old_run(name: str) -> OldRun:
    """The recorded run of this name."""
    return next(run for run in old_runs() if run.name == name)


def _read(name: str, version: str, result: str, archive: Path) -> OldRun:
    files = files_of(archive)
    messages = tuple((path[5:8], files[path]) for path in sorted(files) if path.endswith(("-b2s.json", "-s2b.json")))
    redis = json.loads(files.get("redis.json", b"{}"))
    return OldRun(name, version, result, messages, redis, json.loads(files["run.json"]))


@cache
def verdicts(version: str) -> list[dict[str, Any]]:
    """What that Batsim made of odd replies."""
    data = (VERDICTS / f"legacy-{version}.json.xz").read_bytes()
    found: list[dict[str, Any]] = json.loads(lzma.decompress(data))
    return found
