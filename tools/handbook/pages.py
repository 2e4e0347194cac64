"""The generated parts of pages: the function that makes each, and their places in the pages.

It must not know their contents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handbook import api, campaigns, catalogues, commands, environments, events, fast, older, rules, slurm, surprises
from handbook.markers import replaced

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

__all__ = ["GENERATORS", "Page", "complete", "completed", "outdated"]

Page = str
"""The name of a page: its path in `docs/` without the suffix, such as `reference/events/JobsKilledEvent`."""

GENERATORS: Final[Mapping[str, Callable[[Page, str], str]]] = {
    "event": events.event,
    "event-history": events.event_history,
    "event-rules": events.event_rules,
    "events": events.events,
    "example": events.example,
    "fields": events.event_fields,
    "thing": events.thing,
    "environment-features": environments.features,
    "environments": environments.environments,
    "fast": fast.messages,
    "fast-routes": fast.routes,
    "grid-settings": campaigns.settings,
    "jdl-keys": campaigns.keys,
    "slurm-keys": campaigns.slurm_keys,
    "oar-keys": campaigns.oar_keys,
    "command": commands.command,
    "commands": commands.commands,
    "metrics": catalogues.metrics,
    "older-json": older.json_events,
    "older-text": older.text_events,
    "policies": catalogues.policies,
    "psij-keys": campaigns.psij_keys,
    "power": catalogues.power,
    "published-logs": catalogues.published_logs,
    "python": api.python,
    "outages": catalogues.outages,
    "requests": catalogues.requests,
    "rules": rules.rules,
    "slurm-conf": slurm.parameters,
    "study-failures": catalogues.failures,
    "study-keys": catalogues.keys,
    "subcommands": commands.subcommands,
    "surprises": surprises.surprises,
    "workload-words": catalogues.words,
}
"""The functions of generated parts: Markdown, for a page and the argument of the marker (else "")."""

_ROOT: Final = Path(__file__).resolve().parent.parent.parent
_SOURCES: Final = ("batprotocol", "docs/reference", "generated", "schema", "tests/data", "tools/handbook")
"""The folders of the sources of parts, and of the modules that make them."""


def completed(page: Page, text: str) -> str:
    """A page with its generated parts in it.

    Raises:
        ValueError: a marker is wrong, or its part cannot be generated.
    """

    def made(name: str, argument: str) -> str:
        if name not in GENERATORS:
            raise ValueError(f"no part is called {name!r}; use one of {', '.join(GENERATORS)}")
        try:
            return GENERATORS[name](page, argument)
        except Exception as error:
            raise ValueError(f"'{name} {argument}' cannot be generated: {type(error).__name__}: {error}") from error

    return replaced(text, made)


def complete(app: Sphinx, page: Page, source: list[str]) -> None:
    """Called by Sphinx when it has read a page."""
    from sphinx.errors import ExtensionError

    try:
        source[0] = completed(page, source[0])
    except ValueError as error:
        raise ExtensionError(f"docs/{page}.md: {error}", error) from error


def outdated(
    app: Sphinx, environment: BuildEnvironment, added: set[Page], changed: set[Page], removed: set[Page]
) -> Sequence[Page]:
    """Called by Sphinx before it reads pages: the unchanged pages to read again.

    All of them, if pages were added or removed, because links may change, or if a source of generated parts has
    changed.
    """
    others = sorted(environment.found_docs - added - changed)
    if added or removed:
        return others
    changed_at = max(
        each.stat().st_mtime_ns // 1000
        for source in _SOURCES
        for each in (_ROOT / source).rglob("*.*")
        if "__pycache__" not in each.parts
    )
    return [page for page in others if environment.all_docs[page] < changed_at]
