#!/usr/bin/env python3
"""Write the generated parts of docs/conversation.md and docs/fast.md: automata drawn, and tables of topics and rules.

    tools/document_rules.py            # write them
    tools/document_rules.py --check    # exit 1 if they are not up to date

What is between the markers comes from the tables of `batprotocol.conversation` and `batprotocol.fast`; the rest is
written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

# An installed batprotocol comes first; without one, it is the source tree that is documented.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from batprotocol.conversation import CATALOGUE
from batprotocol.conversation.automaton import HOSTS, JOBS, REGISTRATION
from batprotocol.conversation.events import PHASES
from batprotocol.fast.conversation import CATALOGUE as FAST
from batprotocol.fast.messages import ROUTES
from batprotocol.model import BATSIM_TO_EDC
from batprotocol.rules import Catalogue

DOCUMENTS = Path(__file__).resolve().parent.parent / "docs"
MANY = 4
"""So many events of one arrow are spelled out; of more, only how many there are, below the drawing."""

Table = Mapping[Any, Mapping[type[Any], Any]]

# Steps that no event makes.
SILENT = {"phases": (("INIT", "HELLO", "initialization data"), ("END", "OVER", "the last reply"))}


def drawn(name: str, table: Table) -> str:
    """A table as a Mermaid state diagram, with a legend for arrows that many events share."""
    lines = ["```mermaid", "stateDiagram-v2"]
    legend = []
    lines += [f"    {state.name}: {state.name}<br>{state.meaning}" for state in table]
    lines += [f"    {source} --> {target}: {label}" for source, target, label in SILENT.get(name, ())]
    for source, target, events in arrows(table):
        if len(events) > MANY:
            label = f"{len(events)} events, see below"
            legend.append(f"- {source.name} to {target.name}: {', '.join(events)}.")
        else:
            label = "<br>".join(events)
        lines.append(f"    {source.name} --> {target.name}: {label}")
    lines.append("```")
    return "\n".join([*lines, "", *legend]) if legend else "\n".join(lines)


def arrows(table: Table) -> Iterator[tuple[Enum, Enum, list[str]]]:
    """From where to where, and the events that lead there."""
    for source, steps in table.items():
        targets: dict[Enum, list[str]] = {}
        for event, target in steps.items():
            targets.setdefault(target, []).append(spoken(event))
        yield from ((source, target, events) for target, events in targets.items())


def spoken(event: type[Any]) -> str:
    """An event's name and its speaker."""
    return f"{event.__name__.removesuffix('Event')} ({'Batsim' if event in BATSIM_TO_EDC else 'EDC'})"


def rules(catalogue: Catalogue) -> str:
    """All rules as a Markdown table."""
    sets = list(catalogue.rule_sets)
    lines = [f"| rule | {' | '.join(sets)} | what is wrong, and the way out |", f"|---|{'---|' * len(sets)}---|"]
    for rule in catalogue.rules.values():
        severities = " | ".join(catalogue.rule_sets[name].get(rule.id, "off") for name in sets)
        explanation = rule.explanation.replace("|", "\\|")
        lines.append(f"| `{rule.id}` | {severities} | **{rule.title}.** {explanation} |")
    return "\n".join(lines)


def routes() -> str:
    """What travels where in FaST, as a Markdown table."""
    lines = ["| message | `task` | topic | from | to | QoS | retained |", "|---|---|---|---|---|---|---|"]
    for route in ROUTES:
        task = f"`{route.task}`" if route.task else ""
        way = (
            f"`{route.channel}` | {route.sender} | {route.receiver} | {route.qos} | {'yes' if route.retained else 'no'}"
        )
        lines.append(f"| `{route.message.__name__}` | {task} | {way} |")
    return "\n".join(lines)


def parts() -> dict[str, dict[str, str]]:
    """The generated parts of each document by the names of their markers."""
    tables: dict[str, Table] = {"phases": PHASES, "jobs": JOBS, "hosts": HOSTS, "registration": REGISTRATION}
    return {
        "conversation.md": {**{name: drawn(name, table) for name, table in tables.items()}, "rules": rules(CATALOGUE)},
        "fast.md": {"routes": routes(), "rules": rules(FAST)},
    }


def generated(path: Path, document: str) -> str:
    """The document with its generated parts brought up to date."""
    for name, text in parts()[path.name].items():
        marker = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        place = marker.search(document)
        if not place:
            raise SystemExit(f"{path}: there is no place marked `generated: {name}`")
        document = f"{document[: place.start()]}{place[1]}\n{text}\n\n{place[2]}{document[place.end() :]}"
    return document


def main() -> int:
    """Write the documents, or only look whether that is necessary."""
    stale = 0
    for name in parts():
        path = DOCUMENTS / name
        before = path.read_text(encoding="utf-8")
        after = generated(path, before)
        if "--check" not in sys.argv[1:]:
            path.write_text(after, encoding="utf-8")
        elif after != before:
            print(f"{path} is not up to date: run tools/document_rules.py", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
