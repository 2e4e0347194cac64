"""Reads campaigns: the JDL of either system, with defaults, after the admission rules, as values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from batprotocol.campaigns.jdl.admission import Rules
from batprotocol.campaigns.jdl.cigri2 import parse_blocks
from batprotocol.campaigns.jdl.cigri3 import expand, parse
from batprotocol.campaigns.jdl.idle import idle_keys, unknown_keys
from batprotocol.campaigns.jdl.resources import read_resources, seconds_of
from batprotocol.campaigns.jdl.tasks import as_text, parameters_of, params_as_json, text_of
from batprotocol.campaigns.model import Campaign, CampaignType, ClusterProperties, Record
from batprotocol.errors import InputError, JdlError, shown

__all__ = ["Submitted", "properties_from", "read_jdl", "rows_of"]


class Submitted(Record, frozen=True, kw_only=True):
    """The content of a JDL.

    Args:
        campaign: the campaign, without a number yet.
        parameters: the parameters of each task, in order. Their first word is the name of the task.
        jdl: the expanded JDL, as JSON.
        warnings: the parts that were ignored or have no effect, one sentence each.
    """

    campaign: Campaign
    parameters: Sequence[str]
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
    number: int = 1,
) -> Submitted:
    """Read a JDL: CiGri 3's JSON or CiGri 2's blocks. The first character decides which.

    Args:
        text: the JDL.
        user: the user who submits it.
        clusters: the known clusters; None: accept any.
        read_file: reads a file of parameters, and raises OSError or ValueError if it cannot; None: files are refused.
        type: `default` or `test`; None: default.
        rules: the admission rules.
        number: the number that the campaign is expected to get, from 1. CiGri 2 calls a campaign by its number if its
            blocks give no name. Such a campaign has this number as its `id`, and the store changes both when it knows
            the real number.

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
    if not blocks:  # those of blocks have warnings with their lines
        warnings += unknown_keys(jdl)
    warnings += idle_keys(jdl["clusters"])
    parameters = parameters_of(jdl, read_file, blocks=blocks)
    if not jdl["clusters"]:
        raise JdlError("No cluster defined", code=-2)
    kind = CampaignType(type or "default")
    if kind is CampaignType.TEST:
        parameters = parameters[: len(jdl["clusters"])]  # one job for each cluster
    name = text_of("name", jdl.get("name"))
    by_number = blocks and not name
    campaign = Campaign(
        id=number if by_number else 0,
        user=user,
        name=str(number) if by_number else name,
        type=kind,
        jobs_type=text_of("jobs_type", jdl.get("jobs_type", "normal")),
        clusters=tuple(_properties(name, cluster) for name, cluster in jdl["clusters"].items()),
    )
    rest = {"clusters": jdl["clusters"], "jobs_type": campaign.jobs_type}
    shown_jdl = f'{{"name":{_json(jdl["name"])},"params":{params_as_json(parameters)},{_json(rest)[1:]}'
    return Submitted(
        campaign=campaign,
        parameters=parameters,
        jdl=shown_jdl,
        warnings=tuple(warnings),
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


_LISTS = ("prologue", "epilogue")
_NUMBERS = ("max_jobs", "priority")
_FLAGS = ("test_mode", "temporal_grouping", "dimensional_grouping")


def _properties(name: str, cluster: Mapping[str, Any]) -> ClusterProperties:
    """The properties of a cluster in an expanded JDL. Unknown keys are ignored."""
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
            rows[key] = as_text(value)
    try:
        properties = properties_from(name, rows)
        read_resources(properties.resources)
        for walltime in (properties.walltime, properties.prologue_walltime, properties.epilogue_walltime):
            seconds_of(walltime or "0")
    except InputError as error:
        raise JdlError(error.reason, f"clusters.{name}.{error.path}") from None
    return properties


def properties_from(cluster: str, rows: Mapping[str, str]) -> ClusterProperties:
    """The properties of a campaign on a cluster, from the rows of the table `campaign_properties`.

    Raises:
        InputError: a number cannot be read.
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
        found[key] = "\n".join(value) if isinstance(value, Sequence) and not isinstance(value, str) else as_text(value)
    return found
