"""Reports of the differences between two schemas for other programs: JSON, workflow commands of GitHub, and SARIF."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from batprotocol.schemas._differences import Difference, Effect, Verdict, worst_of
from batprotocol.schemas._sources import Line

_SARIF: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_KINDS: Final = {
    "added": "A part was added.",
    "default": "The default of a field changed.",
    "deprecated": "A field was deprecated.",
    "identifier": "The identifier at the beginning of messages changed.",
    "moved": "A part has another number or place.",
    "nested": "The message in a vector of bytes has another type.",
    "not deprecated": "A field is deprecated no more.",
    "not nullable": "A field cannot be null any more.",
    "not required": "A field is required no more.",
    "nullable": "A field can be null.",
    "offset": "The offset to a value has another number of bits.",
    "removed": "A part was removed.",
    "renamed": "A part has another name.",
    "required": "A field is required.",
    "root": "The type of messages changed.",
    "size": "A struct has another size.",
    "type": "A part has another type.",
}
"""The kinds of differences, each with a sentence."""


class JudgedDifference(NamedTuple):
    """A difference that was judged.

    Attributes:
        difference: the difference.
        verdict: its worst effect, of the readers and formats that count.
        is_worse: whether that is worse than what is allowed.
        line: the line of the schema that shows it, or None.
        effects: what happens to messages, as a sentence, of the readers and formats that count.
    """

    difference: Difference
    verdict: Verdict
    is_worse: bool
    line: Line | None
    effects: str

    @property
    def sentence(self) -> str:
        """The difference as a sentence: `Job.walltime moved: number 1 before, 2 now`."""
        detail = f": {self.difference.detail}" if self.difference.detail else ""
        return f"{self.difference.place} {self.difference.kind}{detail}"


def _effects(difference: Difference, readers: str, encodings: Sequence[str]) -> str:
    ways = {"old": ("old reads new", difference.old_reads_new), "new": ("new reads old", difference.new_reads_old)}
    counted = ways.values() if readers == "both" else [ways[readers]]
    return "; ".join(f"{way}: {_effect(effect, encodings)}" for way, effect in counted)


def _effect(effect: Effect, encodings: Sequence[str]) -> str:
    verdicts = [getattr(effect, name) for name in encodings]
    if len(set(verdicts)) == 1:
        return str(verdicts[0])
    return f"{effect.binary} in binary, {effect.json} in JSON"


class Judged(NamedTuple):
    """All differences of two schemas.

    Attributes:
        old: the name of the old schema.
        new: the name of the new one.
        allowed: the worst effect that is allowed.
        findings: the differences.
    """

    old: str
    new: str
    allowed: Verdict
    findings: list[JudgedDifference]

    @property
    def worst(self) -> Verdict:
        """The worst effect."""
        return max((each.verdict for each in self.findings), default=Verdict.FINE)


def judged(
    old: str,
    new: str,
    found: Sequence[Difference],
    places: Mapping[str, Line],
    *,
    allowed: Verdict = Verdict.FINE,
    readers: str = "both",
    encodings: Sequence[str] = Effect._fields,
) -> Judged:
    """Judge differences.

    Args:
        old: the name of the old schema.
        new: the name of the new one.
        found: their differences.
        places: the lines of the parts of the new schema.
        allowed: the worst effect that is allowed.
        readers: "old", "new" or "both": the peers whose reading counts.
        encodings: "binary", "json": the formats of messages that count.
    """
    findings = []
    for each in found:
        verdict = worst_of(each, readers, encodings)
        effects = _effects(each, readers, encodings)
        findings.append(JudgedDifference(each, verdict, verdict > allowed, _line_of(each, places), effects))
    findings.sort(key=lambda each: each.line or ("", 0))
    return Judged(old, new, allowed, findings)


def _line_of(difference: Difference, places: Mapping[str, Line]) -> Line | None:
    special = {"root": "root_type", "identifier": "file_identifier"}.get(difference.kind)
    table, _, member = difference.place.rpartition(".") if "." in difference.place else (difference.place, "", "")
    table = table.rpartition(".")[2] or table
    own = f"{table}.{member}" if member else table
    names = [special or own, own, table, "root_type"]
    return next((places[name] for name in names if name in places), next(iter(places.values()), None))


def _json(result: Judged) -> Iterator[str]:
    document = {
        "old": result.old,
        "new": result.new,
        "worst": str(result.worst),
        "allowed": str(result.allowed),
        "differences": [
            {
                "kind": each.difference.kind,
                "place": each.difference.place,
                "detail": each.difference.detail,
                "old_reads_new": _words(each.difference.old_reads_new),
                "new_reads_old": _words(each.difference.new_reads_old),
                "worst": str(each.verdict),
                "is_worse": each.is_worse,
                "file": each.line and each.line.file,
                "line": each.line and each.line.line,
            }
            for each in result.findings
        ],
    }
    import json

    yield json.dumps(document, indent=2, ensure_ascii=False)


def _words(effect: Effect) -> dict[str, str]:
    return {name: str(verdict) for name, verdict in effect._asdict().items()}


def _github(result: Judged) -> Iterator[str]:
    """A command for each difference that is worse than allowed. GitHub shows it at its line."""
    for each in result.findings:
        if each.is_worse:
            level = "error" if each.verdict >= Verdict.REFUSED else "warning"
            place = {"file": each.line.file, "line": str(each.line.line)} if each.line else {}
            properties = place | {"title": f"{each.difference.place} {each.difference.kind}"}
            listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
            yield f"::{level} {listed}::{_data(f'{each.sentence} ({each.effects})')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sarif(result: Judged) -> Iterator[str]:
    from importlib.metadata import PackageNotFoundError, version

    kinds = sorted({each.difference.kind for each in result.findings})
    driver: dict[str, Any] = {
        "name": "batproto schema",
        "rules": [{"id": _rule(kind), "shortDescription": {"text": _KINDS[kind]}} for kind in kinds],
    }
    with suppress(PackageNotFoundError):  # the source runs, and nothing is installed
        driver["version"] = version("batprotocol")
    run = {"tool": {"driver": driver}, "results": [_result(result, each, kinds) for each in result.findings]}
    import json

    yield json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _rule(kind: str) -> str:
    return f"schema/{kind.replace(' ', '-')}"


def _result(result: Judged, finding: JudgedDifference, kinds: list[str]) -> dict[str, Any]:
    kind = finding.difference.kind
    level = "note" if not finding.is_worse else "error" if finding.verdict >= Verdict.REFUSED else "warning"
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.line.file if finding.line else result.new)}}
    if finding.line:
        physical["region"] = {"startLine": finding.line.line}
    return {
        "ruleId": _rule(kind),
        "ruleIndex": kinds.index(kind),
        "level": level,
        "message": {"text": f"{finding.sentence}. {finding.effects[0].upper()}{finding.effects[1:]}."},
        "locations": [
            {
                "physicalLocation": physical,
                "logicalLocations": [{"fullyQualifiedName": finding.difference.place}],
            }
        ],
        "partialFingerprints": {"difference/v1": f"{finding.difference.place} {kind}"},
        "properties": {"verdict": str(finding.verdict)},
    }


def _uri(path: str) -> str:
    from pathlib import PurePath
    from urllib.parse import quote

    name = PurePath(path).as_posix()
    return f"file://{quote(name)}" if os.path.isabs(path) else quote(name)


REPORTS: Final[dict[str, Callable[[Judged], Iterator[str]]]] = {"json": _json, "github": _github, "sarif": _sarif}
"""The reports by name; each yields lines."""
