"""Campaigns out of texts: either system's JDL, completed, seen by the admission rules, and made values of."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from batprotocol.campaigns.jdl.admission import Rules
from batprotocol.campaigns.jdl.cigri2 import lines_of, parse_blocks, unreadable
from batprotocol.campaigns.jdl.cigri3 import Jdl, expand, parse
from batprotocol.campaigns.jdl.resources import read_resources, seconds_of
from batprotocol.campaigns.model import Campaign, CampaignType, ClusterProperties, Record
from batprotocol.errors import InputError, JdlError, shown

__all__ = ["MAX_TASKS", "Submitted", "names_of", "properties_from", "read_jdl", "rows_of"]

MAX_TASKS = 1_000_000
"""More tasks are refused, so that a slip of the finger does not fill the store."""


class Submitted(Record, frozen=True, kw_only=True):
    """What a JDL asks for.

    Args:
        campaign: the campaign; it has no number yet.
        parameters: those of each task, in their order. The first word of each is the task's name.
        jdl: the expanded JDL, as JSON.
        warnings: what was dropped, one sentence each.
    """

    campaign: Campaign
    parameters: tuple[str, ...]
    jdl: str
    warnings: tuple[str, ...] = ()


def read_jdl(
    text: str,
    *,
    user: str,
    clusters: Collection[str] | None = None,
    read_file: Callable[[str], str] | None = None,
    type: str | None = None,
    rules: Rules | None = None,
) -> Submitted:
    """What a JDL asks for: CiGri 3's JSON, or CiGri 2's blocks, told apart by how they begin.

    Args:
        text: the JDL.
        user: whose campaign it will be.
        clusters: the clusters that there are; None: any.
        read_file: reads a file of parameters, and raises OSError or ValueError if it cannot; None: there are none.
        type: `default` or `test`; None: default.
        rules: the admission rules.

    Raises:
        JdlError: it cannot be used, or a rule refuses it.

    >>> got = read_jdl('{"name": "n", "nb_jobs": 2, "exec_file": "run.sh", "clusters": {"a": {}}}', user="alice")
    >>> got.parameters, got.campaign.clusters[0].exec_file, got.campaign.clusters[0].walltime
    (('0', '1'), 'run.sh', '01:00:00')
    """
    if type is not None and type not in list(CampaignType):
        raise JdlError(f"{type}: invalid campaign type, expected default or test", "type", code=-5)
    warnings: list[str] = []
    blocks = text.lstrip()[:1] not in ("{", "[")
    jdl = parse_blocks(text, clusters, warnings) if blocks else expand(parse(text), clusters)
    if rules is not None:
        jdl = rules.admit(jdl, user)
    parameters = _parameters(jdl, read_file, blocks=blocks)
    if not jdl["clusters"]:
        raise JdlError("No cluster defined", code=-2)
    kind = CampaignType(type or "default")
    if kind is CampaignType.TEST:
        parameters = parameters[: len(jdl["clusters"])]  # one job for each cluster
    campaign = Campaign(
        user=user,
        name=_text("name", jdl.get("name")),
        type=kind,
        jobs_type=_text("jobs_type", jdl.get("jobs_type", "normal")),
        clusters=tuple(_properties(name, cluster) for name, cluster in jdl["clusters"].items()),
    )
    shown_jdl = {"name": jdl["name"], "params": list(parameters), "clusters": jdl["clusters"]}
    shown_jdl["jobs_type"] = campaign.jobs_type
    return Submitted(
        campaign=campaign,
        parameters=parameters,
        jdl=msgspec.json.encode(shown_jdl).decode(),
        warnings=tuple(warnings),
    )


def _parameters(jdl: Jdl, read_file: Callable[[str], str] | None, *, blocks: bool) -> tuple[str, ...]:
    """The parameters of all tasks: `params` wins, then `nb_jobs`, then `param_file`; in blocks a file that is there."""
    if jdl.get("params") not in (None, False):
        given = jdl["params"]
        if not isinstance(given, list) or any(isinstance(each, list | dict) for each in given):
            raise JdlError("expected a list of texts", "params")
        found = ["" if each is None else _as_text(each) for each in given]
    elif blocks and jdl.get("param_file") is not None:
        try:
            found = lines_of(_read(_text("param_file", jdl["param_file"]), read_file))
        except JdlError:
            if jdl.get("nb_jobs") is None:
                raise JdlError(unreadable(jdl["param_file"]), "param_file") from None
            found = _numbered(jdl["nb_jobs"])
    elif jdl.get("nb_jobs") is not None:
        found = _numbered(jdl["nb_jobs"])
    else:
        text = _read(_text("param_file", jdl.get("param_file")), read_file)
        found = [line.strip() for line in text.removesuffix("\n").split("\n")] if text else []
    if len(found) > MAX_TASKS:
        raise JdlError(f"a campaign has at most {MAX_TASKS} tasks: make several of it")
    seen: set[str] = set()
    for place, name in enumerate(names_of(found)):
        if name in seen:
            raise JdlError(
                f"two tasks have the name {shown(name)}: the first word of each must differ",
                f"params[{place}]",
                code=-4,
            )
        seen.add(name)
    return tuple(found)


def _numbered(number: object) -> list[str]:
    """As many parameters as `nb_jobs` says."""
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise JdlError(f"expected a number, found {shown(number)}", "nb_jobs")
    return [str(each) for each in range(math.ceil(min(number, MAX_TASKS + 1)))]


def _read(path: str, read_file: Callable[[str], str] | None) -> str:
    try:
        if read_file is not None:
            return read_file(path)
    except InputError:  # it says why
        raise
    except (OSError, ValueError):
        pass
    raise JdlError(f"Parameter file '{path}' is not readable", "param_file")


def names_of(parameters: Iterable[str]) -> list[str]:
    """The names of tasks: the first word of their parameters.

    >>> names_of(["one 1 2", ""])
    ['one', '']
    """
    return [each.split(maxsplit=1)[0] if each.strip() else "" for each in parameters]


def _text(path: str, value: object) -> str:
    if not isinstance(value, str):
        raise JdlError(f"expected a text, found {shown(value)}", path)
    return value


def _as_text(value: object) -> str:
    """A scalar of JSON as the tables hold it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


_LISTS = ("prologue", "epilogue")
_NUMBERS = ("max_jobs", "priority")
_FLAGS = ("test_mode", "temporal_grouping", "dimensional_grouping")


def _properties(name: str, cluster: Mapping[str, Any]) -> ClusterProperties:
    """What a cluster's part of an expanded JDL says. Keys that nobody knows are ignored."""
    rows: dict[str, str] = {}
    for key, value in cluster.items():
        path = f"clusters.{name}.{key}"
        if key not in ClusterProperties.__struct_fields__ or key == "cluster" or value is None:
            continue
        if key in _LISTS:
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                raise JdlError(f"expected a list of commands, found {shown(value)}", path)
            rows[key] = "\n".join(value)
        elif isinstance(value, list | dict) or (key in ("exec_file", "exec_directory") and not isinstance(value, str)):
            raise JdlError(f"expected a text, found {shown(value)}", path)
        else:
            rows[key] = _as_text(value)
    try:
        properties = properties_from(name, rows)
        read_resources(properties.resources)
        for walltime in (properties.walltime, properties.prologue_walltime, properties.epilogue_walltime):
            seconds_of(walltime or "0")
    except InputError as error:
        raise JdlError(error.reason, f"clusters.{name}.{error.path}") from None
    return properties


def properties_from(cluster: str, rows: Mapping[str, str]) -> ClusterProperties:
    """What a campaign says of a cluster, out of the rows of the table `campaign_properties`.

    Raises:
        InputError: a number is none.
    """
    values: dict[str, Any] = dict(rows)
    for key in _NUMBERS:
        if key in values:
            if not values[key].removeprefix("-").isdecimal() or len(values[key]) > 9:
                raise InputError(f"expected a whole number, found {shown(values[key])}", key)
            values[key] = int(values[key])
    values |= {key: values[key] == "true" for key in _FLAGS if key in values}
    values |= {key: tuple(values[key].split("\n")) if values[key] else () for key in _LISTS if key in values}
    return ClusterProperties(cluster=cluster, **values)


def rows_of(properties: ClusterProperties) -> dict[str, str]:
    """The rows of the table `campaign_properties`: one for each key. `properties_from` reads them.

    >>> rows = rows_of(ClusterProperties(cluster="a", exec_file="run.sh", max_jobs=4, prologue=("cd x", "make")))
    >>> rows["test_mode"], rows["max_jobs"], rows["prologue"]
    ('false', '4', 'cd x\\nmake')
    >>> properties_from("a", rows).prologue
    ('cd x', 'make')
    """
    found: dict[str, str] = {}
    usual = ClusterProperties(cluster="", exec_file="")
    for key in properties.__struct_fields__:
        value = getattr(properties, key)
        if key == "cluster" or value is None or (key in (*_LISTS, *_NUMBERS) and value == getattr(usual, key)):
            continue
        found[key] = "\n".join(value) if isinstance(value, Sequence) and not isinstance(value, str) else _as_text(value)
    return found
