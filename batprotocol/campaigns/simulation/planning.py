"""The simulation of a campaign before it is run: its JDL, on clusters of the same sizes that have their own jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from batprotocol.campaigns.model import Settings
from batprotocol.campaigns.simulation.plan import CampaignPlan, GridPlan, seconds_in
from batprotocol.campaigns.simulation.workload import local_workload
from batprotocol.errors import InputError
from batprotocol.simulator import Workload

__all__ = ["clusters_in", "plan_campaign", "read_campaign"]

WARM_UP: Final = 3600.0
"""When the campaign is submitted, in seconds: by then, the clusters are loaded."""

LOCAL_SECONDS: Final = 600.0
"""The mean duration of the clusters' own jobs."""


def read_campaign(text: str, read_file: Callable[[str], str]) -> dict[str, Any]:
    """The keys of a JDL in CiGri 3's JSON, with the lines of its parameter file as parameters.

    Raises:
        InputError: it is no object in JSON.
    """
    try:
        jdl = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(f"expected a JDL in JSON: {error}") from None
    file = jdl.get("param_file")
    if isinstance(file, str) and not {"params", "nb_jobs"} & jdl.keys():
        del jdl["param_file"]
        jdl["params"] = read_file(file).splitlines()
    return jdl


def clusters_in(jdl: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the clusters in a JDL."""
    named = jdl.get("clusters")
    return tuple(named) if isinstance(named, dict) else ()


def plan_campaign(
    jdl: Mapping[str, Any], sizes: Mapping[str, int], *, seconds: float, load: float = 0.0, settings: Settings
) -> tuple[GridPlan, list[Workload]]:
    """The plan, and the workloads of the clusters' own jobs.

    Args:
        jdl: the keys of the JDL.
        sizes: how many resources each of its clusters has.
        seconds: the duration of a task, in seconds, > 0. A word `d=SECONDS` of its parameters goes first.
        load: the share of the resources that the clusters' own jobs use on average, 0 to 1.
        settings: the settings of the grid.

    Raises:
        InputError: the JDL is wrong.
    """
    campaign = CampaignPlan(jdl=jdl, duration=seconds, submission_time=WARM_UP if load else 0.0)
    tasks = campaign.read(sizes).parameters
    work = sum(seconds_in(task) or seconds for task in tasks)
    idle = max(1.0, sum(sizes.values()) * (1 - load))
    horizon = WARM_UP + 10 * work / idle + 200 * seconds
    own = [
        local_workload(size, horizon, load=load, mean_seconds=LOCAL_SECONDS, seed=number)
        for number, size in enumerate(sizes.values())
    ]
    plan = GridPlan(campaigns=(campaign,), clusters=dict(sizes), queue="easy", cycle=5.0, settings=settings, stop=True)
    return plan, own if load else []
