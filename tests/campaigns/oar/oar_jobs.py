"""Jobs of a cluster, in the words of the tests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from batprotocol.campaigns.managers import Request, ResourceManager
from batprotocol.campaigns.managers.oar import manager
from batprotocol.campaigns.model import JobState, RemoteJob

PATIENCE = 30.0


def described(path: Path, **members: object) -> str:
    """Write the description of a cluster."""
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in {"type": "oar", **members}.items()))
    return str(path)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def jobs_of(cluster: ResourceManager) -> dict[int, RemoteJob]:
    return {job.job: job for job in cluster.look().jobs}


def ends(cluster: ResourceManager) -> dict[int, RemoteJob]:
    until(lambda: all(job.state is JobState.TERMINATED for job in jobs_of(cluster).values()))
    return jobs_of(cluster)


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events if event.type in {*manager.CAUSES, "REFUSED"}]


def requests_of(*commands: str, first: int = 1, **more: Any) -> list[Request]:
    return [Request(job=number, command=command, campaign=1, **more) for number, command in enumerate(commands, first)]
