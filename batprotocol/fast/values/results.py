"""What the migration framework of a node answers: one result for each task, on `fast/migfra/<hostname>/result`."""

from __future__ import annotations

from collections.abc import Mapping

from batprotocol.fast.values.base import FastMessage, Part, none_of
from batprotocol.model.fields import TupleOf
from batprotocol.model.value import tuples_into

__all__ = ["ERROR", "SUCCESS", "UNKNOWN", "Result", "VMResult"]

SUCCESS = "success"
"""The `status` of a machine with which what was asked for was done."""
ERROR = "error"
"""The `status` of a machine with which it failed."""
UNKNOWN = "unknown"
"""The `result` of what is no task, and the name of the machine in it."""


class VMResult(Part, frozen=True):
    """What became of one machine.

    Args:
        vm_name: the machine; for a task with a regular expression, that.
        status: `success` or `error`. Any text can be read.
        details: why, for an error. The empty text is None.
        time_measurement: how long things took, in seconds with six decimals, by their tags (`overall`, `migrate`); a
            text where a duration is told otherwise.
        process_id: the process of the machine, in the specification; no program tells or reads it.
    """

    vm_name: str
    status: str = SUCCESS
    details: str | None = None
    time_measurement: Mapping[str, float | str] | None = None
    process_id: str | None = None

    def __post_init__(self) -> None:
        none_of(self, "details", "")

    @property
    def is_success(self) -> bool:
        """Whether all went well."""
        return self.status == SUCCESS


class Result(FastMessage, frozen=True):
    """The result of a task.

    Args:
        result: what was done: `vm started`, `vm stopped`, `vm suspended`, `vm resumed`, `vm repinned`, `vm migrated`,
            `node evacuated`, `quit`; or `unknown` for what was no task. Any text can be read.
        list: what became of each machine, in the order of the task. That of `vm migrated` is one, which stands in the
            message itself.
        id: the `id` of the task. The empty text is None.
        scheduler: whom it is for, in the specification: a host name or `global`; no program tells or reads it.

    >>> Result("vm stopped", [VMResult("vm1")], id="7").is_success
    True
    """

    result: str
    list: TupleOf[VMResult] = ()  # type: ignore[assignment]  # a descriptor
    id: str | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        tuples_into(self, "list")
        none_of(self, "id", "")

    @property
    def is_success(self) -> bool:
        """Whether all went well, with every machine."""
        return all(entry.status == SUCCESS for entry in self.list) and self.result != UNKNOWN
