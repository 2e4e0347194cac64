"""`batproto rules` and `policies`, and what `batproto schema` writes for Wireshark and for readers of JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

import click

from batprotocol._util.rules import Catalogue
from batprotocol.cli.parameters import SchemaFile
from batprotocol.cli.terminal import Piece

__all__ = [
    "explain",
    "ids",
    "policies_overview",
    "rules_overview",
    "show_dissector",
    "show_vocabulary",
]


_OFF = "off"
_WIDEST_WORD = len("deadlock")

Line = list[Piece]


def ids(catalogues: Mapping[str, Catalogue]) -> tuple[str, ...]:
    """The ids of all rules, each once: several catalogues can have the same id."""
    return tuple(dict.fromkeys(id for catalogue in catalogues.values() for id in catalogue.rules))


def rules_overview(catalogues: Mapping[str, Catalogue]) -> Iterator[Line]:
    """All rules: the id, the severity in each rule set, and the title."""
    for name, catalogue in catalogues.items():
        yield from _heading(name, catalogues)
        widest = max(map(len, catalogue.rules))
        columns = {name: max(len(name), _WIDEST_WORD) for name in catalogue.rule_sets}
        heads = "  ".join(name.ljust(width) for name, width in columns.items())
        yield [("heading", f"{'rule'.ljust(widest)}  {heads}  problem")]
        for rule in catalogue.rules.values():
            words = (_severity(catalogue, name, rule.id).ljust(width) for name, width in columns.items())
            yield [("type", rule.id.ljust(widest)), ("", f"  {'  '.join(words)}  {rule.title}")]


def explain(id: str, catalogues: Mapping[str, Catalogue], width: int | None) -> Iterator[Line]:
    """A rule in each catalogue that has it: its explanation, wrapped at `width` unless it is None, and severities."""
    having = {name: catalogue for name, catalogue in catalogues.items() if id in catalogue.rules}
    for name, catalogue in having.items():
        yield from _heading(name, having)
        rule = catalogue.rules[id]
        yield [("type", rule.id), ("", ": "), ("heading", rule.title)]
        lines = textwrap.wrap(rule.explanation, max(width - 2, 20)) if width else [rule.explanation]
        yield from ([("", f"  {line}")] for line in lines)
        for rule_set in catalogue.rule_sets:
            yield [("", "  "), ("field", rule_set), ("", f": {_severity(catalogue, rule_set, id)}")]


def _heading(name: str, among: Iterable[str]) -> Iterator[Line]:
    """The name of a catalogue, if there are several."""
    if len(list(among)) > 1:
        yield [("file", name)]


def _severity(catalogue: Catalogue, rule_set: str, id: str) -> str:
    return catalogue.rule_sets[rule_set].get(id, _OFF)


# Policies


def policies_overview() -> Iterator[list[Piece]]:
    """All parts by kind: the name, a sentence and the source of each."""
    from batprotocol.policies.names import KINDS, PARTS

    widest = max(len(part.name) for part in PARTS.values())
    for kind, heading in KINDS.items():
        yield [("heading", heading)]
        for part in PARTS.values():
            if part.kind != kind:
                continue
            options = f" Options: {part.name}={part.options}." if part.options else ""
            yield [("type", part.name.ljust(widest)), ("", f"  {part.sentence}{options}")]
            if part.source:
                yield [("detail", f"{' ' * widest}  {part.source}")]
    yield [("heading", "Names")]
    yield [("", "Join parts by + or -, in any order, with at most one part of each kind: easy-sjf, saf+conservative.")]
    yield [("", "The default order is fcfs, the default backfilling is none, and the default for hosts is first.")]


# For other programs


def show_dissector(schema: SchemaFile, ports: str) -> None:
    """Print the dissector of a schema.

    Args:
        schema: the schema. The name of its file is the name of the protocol.
        ports: TCP ports, or "".
    """
    from batprotocol.schemas import AGES, dissector

    name = "batprotocol" if schema.name in AGES else PurePath(schema.name).stem
    click.echo(dissector(schema.read(whole=True), name, ports), nl=False)


def show_vocabulary(which: str) -> None:
    """Print the JSON schema of the `requests` of jobs, of the `offers` of hosts, or of `host-events`."""
    from batprotocol.workloads.host_events import host_event_schema
    from batprotocol.workloads.requests import host_schema, request_schema

    found = {"requests": request_schema, "offers": host_schema, "host-events": host_event_schema}[which]()
    click.echo(json.dumps(found, indent=2))
