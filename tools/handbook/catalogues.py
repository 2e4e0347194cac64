"""Tables of the names in simulations and studies: policies, metrics, words of workloads, keys, failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Final

from batprotocol.policies.names import KINDS, PARTS
from batprotocol.results.catalogue import Metric
from batprotocol.simulator import METRICS, OF_FAILURES, OF_POWER, OF_WORKFLOWS
from batprotocol.sites.logs.columns import READY, ready_mapping
from batprotocol.studies.keys import KEYS
from batprotocol.studies.runs import KINDS as FAILURES
from batprotocol.workloads.described import WATT_KEYS
from batprotocol.workloads.electricity import FORMATS
from batprotocol.workloads.electricity.tables import DAILY_WORDS, TRACE_WORDS
from batprotocol.workloads.host_events import FAILURE_PRESETS
from batprotocol.workloads.host_events.events import EVENT_KEYS, FLAGS, STATES, WINDOW_KEYS
from batprotocol.workloads.names import FILE_WORDS, MODEL_WORDS
from batprotocol.workloads.requests.vocabulary import HOST_KEYS, JOB_KEYS, SLURM_KEYS
from handbook.markdown import capitalised, code, prose, table, target

__all__ = ["failures", "keys", "metric_names", "metrics", "policies", "power", "published_logs", "words"]

_KEY_KINDS: Final[Mapping[str, str]] = {
    "input": "Inputs",
    "change": "Changes of the workload",
    "machine": "Hosts",
    "failures": "Failures of hosts",
    "power": "Electricity",
    "option": "Simulation",
    "metrics": "Measuring",
}
_WORDS: Final = {"files": FILE_WORDS, "model": MODEL_WORDS}
_METRICS_PAGE: Final = "reference/metrics"


def policies(page: str, kind: str) -> str:
    """The parts of policies of a kind."""
    assert kind in KINDS
    rows = (
        (
            code(f"{part.name}={part.options}") if part.options else code(part.name),
            prose(part.sentence),
            prose(part.source),
        )
        for part in PARTS.values()
        if part.kind == kind
    )
    return _without_empty(("name", "effect", "source"), rows)


def published_logs(page: str, argument: str) -> str:
    """The published logs that have a mapping of their columns."""
    rows = []
    for name in READY:
        mapping = ready_mapping(name)
        title = f"[{prose(mapping.title)}]({mapping.source})"
        rows.append((code(name), title, prose(" ".join(mapping.notes))))
    return table(("format", "log", "notes"), rows)


def requests(page: str, which: str) -> str:
    """The keys of the vocabulary of `jobs` or `hosts`, and those of jobs that only the policy `slurm` knows."""
    keys = {"jobs": JOB_KEYS, "hosts": HOST_KEYS, "slurm": SLURM_KEYS}[which]
    rows = (
        (code(name), prose(key.meaning), ", ".join(map(code, filter(None, key.slurm.split(", ")))))
        for name, key in keys.items()
    )
    return _without_empty(("key", "meaning", "in Slurm"), rows)


def outages(page: str, which: str) -> str:
    """Events of hosts: the keys of the `event` or the `window`, the `states`, `flags` or `presets`."""
    if which == "flags":
        return table(("flag", "meaning"), [(code(name), prose(meaning)) for name, meaning in FLAGS.items()])
    if which == "presets":
        rows = [(code(name), prose(each.meaning), prose(each.source)) for name, each in FAILURE_PRESETS.items()]
        return table(("name", "laws", "source"), rows)
    if which == "states":
        states = [(code(name), prose(meaning), code(slurm)) for name, (meaning, slurm) in STATES.items()]
        return table(("state", "meaning", "in Slurm"), states)
    keys = {"event": EVENT_KEYS, "window": WINDOW_KEYS}[which]
    return table(
        ("key", "meaning", "in Slurm"),
        [(code(name), prose(key.meaning), code(key.slurm)) for name, key in keys.items()],
    )


def power(page: str, which: str) -> str:
    """Electricity: the `formats` of tables, the options of `files` and `daily` curves, the keys of `watts`."""
    if which == "formats":
        rows = [(prose(name), code(header), prose(taken)) for name, header, taken in FORMATS]
        return table(("publisher", "columns", "taken"), rows)
    if which == "watts":
        return table(("key", "meaning"), [(code(key), prose(meaning)) for key, meaning in WATT_KEYS.items()])
    words = {"files": TRACE_WORDS, "daily": DAILY_WORDS}[which]
    return table(
        ("behind the `?`", "meaning"),
        [(code(f"{name}={word.values}"), prose(word.meaning)) for name, word in words.items()],
    )


def words(page: str, which: str) -> str:
    """The words behind the `?` of a workload's name: of `files` or of the `model`."""
    rows = (
        (
            ", ".join(code(f"{name}={value}") for value in word.value.split(", ")),
            prose(word.meaning),
            ", ".join(map(code, word.function.split(", "))) if word.function else "",
            prose(word.source),
        )
        for name, word in _WORDS[which].items()
    )
    return _without_empty(("behind the `?`", "meaning", "in Python", "source"), rows)


def keys(page: str, argument: str) -> str:
    """The keys of studies, a table for each kind of them."""
    assert {key.kind for key in KEYS.values()} == _KEY_KINDS.keys()
    parts = []
    for kind, title in _KEY_KINDS.items():
        rows = [(code(name), prose(key.expected), prose(key.meaning)) for name, key in KEYS.items() if key.kind == kind]
        parts += [f"### {title}", table(("key", "value", "meaning"), rows)]
    return "\n\n".join(parts) + "\n"


def failures(page: str, argument: str) -> str:
    """The kinds of failures of runs of studies."""
    return table(("kind", "meaning"), ((code(kind), prose(meaning)) for kind, meaning in FAILURES.items())) + "\n"


def _family(metric: Metric) -> str:
    """The common name of metrics that are statistics of one quantity: `bounded_slowdown`."""
    return metric.path.partition(".")[0]


def _anchor(family: str) -> str:
    return f"metric-{family.replace('_', '-')}"


def metric_names() -> Mapping[str, tuple[str, str]]:
    """The place of each metric by its name."""
    of_jobs = {name: (_METRICS_PAGE, _anchor(_family(metric))) for name, metric in METRICS.items()}
    return of_jobs | {name: (_METRICS_PAGE, _anchor(name)) for name in (*OF_FAILURES, *OF_POWER, *OF_WORKFLOWS)}


_MORE: Final = {"failures": OF_FAILURES, "power": OF_POWER, "workflows": OF_WORKFLOWS}


def metrics(page: str, which: str) -> str:
    """The metrics of `jobs`, the `machine`, `failures`, `power` or `workflows`; or the `statistics` of jobs."""
    families = [(name, list(found)) for name, found in groupby(METRICS.values(), _family)]
    if which == "statistics":
        of_jobs = next(found for _, found in families if len(found) > 1)
        rows = [(code(each.name.partition("_")[0]), prose(each.definition.rpartition("; ")[2])) for each in of_jobs]
        return table(("statistic", "meaning"), rows) + "\n"
    if which in _MORE:
        return "\n\n".join(_metric(name, [each]) for name, each in _MORE[which].items()) + "\n"
    assert which in {"jobs", "machine"}
    return "\n\n".join(_metric(name, found) for name, found in families if (len(found) > 1) == (which == "jobs")) + "\n"


def _metric(name: str, found: list[Metric]) -> str:
    first = found[0]
    several = len(found) > 1
    definition = first.definition.rpartition("; ")[0] if several else first.definition
    facts = [f"Definition: {prose(definition)}."]
    facts += [f"Unit: {first.unit}."] if first.unit else []
    facts += [f"{first.better.capitalize()} is better."] if first.better else []
    facts += [f"Source: {prose(first.source)}."] if first.source else []
    title = first.label.split(" ", 1)[1] if several else first.label
    parts = [f"{target(_anchor(name))}\n### {capitalised(title)}"]
    parts.append(", ".join(code(each.name) for each in found))
    return "\n\n".join([*parts, " ".join(facts)])


def _without_empty(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table without those columns in which no row has anything."""
    found = list(rows)
    kept = [number for number in range(len(heads)) if any(row[number] for row in found)]
    return table([heads[number] for number in kept], ([row[number] for number in kept] for row in found)) + "\n"
