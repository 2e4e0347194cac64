"""Recorded runs of the older protocols: all of them where they are at hand, else those kept with the tests."""

from __future__ import annotations

import base64
import json
import lzma
import tarfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from support import DATA, SHARED, files_of

from batprotocol.legacy.conversation import Conversation, Violation

KEPT = DATA / "legacy"
CORPUS = SHARED / "corpus" / "legacy" if (SHARED / "corpus" / "legacy").is_dir() else KEPT
TEXT = SHARED / "text" if (SHARED / "text").is_dir() else KEPT / "text"
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


def _read(name: str, version: str, result: str, archive: Path, *, is_plain: bool = True) -> OldRun:
    files = files_of(archive) if is_plain else _any_files_of(archive)
    messages = tuple((path[5:8], files[path]) for path in sorted(files) if path.endswith(("-b2s.json", "-s2b.json")))
    redis = json.loads(files.get("redis.json", b"{}"))
    return OldRun(name, version, result, messages, redis, json.loads(files["run.json"]))


@cache
def verdicts(version: str) -> list[dict[str, Any]]:
    """What that Batsim made of odd replies."""
    data = (VERDICTS / f"legacy-{version}.json.xz").read_bytes()
    found: list[dict[str, Any]] = json.loads(lzma.decompress(data))
    return found


class TextRun(NamedTuple):
    """A recorded run of a Batsim that speaks text.

    Attributes:
        name: what it is called.
        version: which version of text, in [0,3].
        is_clean: whether Batsim came to its end.
        messages: who says it ("batsim", "edc") and its bytes without their size, in order.
        files: its inputs and outputs, by their path.
        facts: its `run.json`.
    """

    name: str
    version: int
    is_clean: bool
    messages: tuple[tuple[str, bytes], ...]
    files: dict[str, bytes]
    facts: dict[str, Any]

    def said(self, who: str) -> list[bytes]:
        return [data for speaker, data in self.messages if speaker == who]


def text_names() -> list[str]:
    """The names of all recorded runs in text."""
    return sorted(path.name.removesuffix(".tar.xz") for path in (TEXT / "legacy-text").glob("*.tar.xz"))


@cache
def text_run(name: str) -> TextRun:
    """The recorded run in text of this name."""
    archive = TEXT / "legacy-text" / f"{name}.tar.xz"
    files = _any_files_of(archive)
    facts = json.loads(files["run.json"])
    lines = [json.loads(line) for line in files["frames.jsonl"].splitlines()]
    messages = tuple((line["from"], base64.b64decode(line["bytes"])[4:]) for line in lines if "bytes" in line)
    version = int(facts["batsim"]["protocol"][-1])
    return TextRun(archive.name.removesuffix(".tar.xz"), version, facts["batsim"]["rc"] == 0, messages, files, facts)


@cache
def first_runs() -> tuple[OldRun, ...]:
    """The runs of Batsim 1.0, 1.2 and 1.4 that were recorded later."""
    found = []
    for path in sorted((TEXT / "legacy-1x").glob("*.tar.xz")):
        name = path.name.removesuffix(".tar.xz")
        found.append(_read(name, name.partition("__")[0], "", path, is_plain=False))
    return tuple(found)


@cache
def text_verdicts(version: int) -> list[dict[str, Any]]:
    """What the Batsim of that version of text made of odd replies."""
    found: list[dict[str, Any]] = json.loads(
        lzma.decompress((TEXT / "verdicts" / f"legacy-text-{version}.json.xz").read_bytes())
    )
    return found


def conversation_of(version: int, verdict: dict[str, Any]) -> tuple[bool, list[Violation]]:
    """Whether the socket was closed in the middle, which is no message, and what is wrong with what was said."""
    conversation = Conversation(f"text-{version}")
    found: list[Violation] = []
    held = last = ""
    for who, said in verdict["messages"]:
        if who == "edc-raw":
            return True, found
        if who == "edc" and last == "edc":  # it is said before it is its turn
            held = said
            continue
        last = who
        found += conversation.feed((held if said == "(sent before)" else said).encode("utf-8", "surrogateescape"))
    return False, found + conversation.finish()


def _any_files_of(archive: Path) -> dict[str, bytes]:
    """The files of an archive that has more than plain files in it."""
    with tarfile.open(archive) as tar:
        members = [(each.name.removeprefix("./"), tar.extractfile(each)) for each in tar if each.isfile()]
        return {name: stream.read() for name, stream in members if stream is not None}
