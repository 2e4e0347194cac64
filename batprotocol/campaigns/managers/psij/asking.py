"""Runs PSI/J as a process for each request, so that it ends in time, whatever it waits for."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from batprotocol._util import children
from batprotocol._util.extras import installing
from batprotocol._util.strangers import BROKEN
from batprotocol.campaigns.managers.psij.description import PsijDescription
from batprotocol.errors import ClusterError, printable

__all__ = ["Psij"]

MOST_BYTES: Final = 8 << 20
"""How many bytes of answers are read."""

HELPER: Final = str(Path(__file__).with_name("helper.py"))

Answer = dict[str, str]


class Psij:
    """PSI/J's executor of a cluster.

    Args:
        description: the description of the cluster.
        cluster: the name of the cluster, for messages.
    """

    def __init__(self, description: PsijDescription, cluster: str = "") -> None:
        self._description = description
        self._cluster = cluster

    def submit(self, jobs: Sequence[Mapping[str, Any]]) -> tuple[list[str], str]:
        """Submit scripts; return the batch system's numbers of the first ones, and why the next one has none, or ""."""
        given = self._description
        more = {"queue": given.queue, "account": given.account}
        answers, trouble = self._ask({"submit": [{**job, **more} for job in jobs]})
        natives = [each["native"] for each in answers if "native" in each]
        return natives, trouble if trouble or len(natives) == len(jobs) else self._failed("it writes no answer")

    def states(self, natives: Iterable[str]) -> Answer:
        """The states of the jobs that the batch system lists, by its numbers."""
        answers, trouble = self._ask({"states": list(natives)})
        if trouble or not answers:
            raise ClusterError(trouble or self._failed("it writes no answer"), self._cluster)
        return answers[0]

    def cancel(self, natives: Iterable[str]) -> None:
        """Cancel jobs. Those that are not there any more are skipped."""
        _, trouble = self._ask({"cancel": list(natives)})
        if trouble:
            raise ClusterError(trouble, self._cluster)

    def _ask(self, request: Mapping[str, Any]) -> tuple[list[Answer], str]:
        """The answers to a request, and why there are no more, or ""."""
        given = self._description
        text = msgspec.json.encode({"executor": given.executor, **request})
        try:
            done = children.run([given.python, "-I", HELPER], text, timeout=given.timeout, environment=dict(os.environ))
        except children.NotStarted as error:
            return [], str(error)
        trouble = ""
        if done.trouble == "late":
            trouble = f"PSI/J does not answer within {given.timeout:g} s"
        elif done.trouble == "long":
            trouble = self._failed(f"it writes more than {MOST_BYTES >> 20} MiB")
        elif done.status:
            trouble = self._failed(children.last_line(done.errors))
        answers: list[Answer] = []
        for line in io.BytesIO(done.output):
            if not line.endswith(b"\n"):  # it is a half
                break
            try:
                answers.append(msgspec.json.decode(line, type=Answer))
            except BROKEN:
                return answers, self._failed("it writes no JSON")
            if set(answers[-1]) == {"error"}:
                return answers[:-1], self._failed(answers[-1]["error"])
        return answers, trouble

    def _failed(self, reason: str) -> str:
        line = printable(" ".join(reason.split()))[:300]
        if "No module named 'psij'" in line:
            return f"{self._description.python} has no PSI/J: {installing('psij')}"
        return f"PSI/J with {self._description.executor} fails: {line}"
