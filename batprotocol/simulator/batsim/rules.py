"""The rules that only a simulator can check: about profiles that the decision component did not get, or itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from batprotocol.conversation import RULES, Rule, Violation
from batprotocol.errors import RuleViolation

__all__ = [
    "SIMULATOR_RULES",
    "Refusals",
    "SimulatorViolation",
]


_ALL: Final = (
    Rule(
        "profile.not-simulated",
        "This profile cannot be simulated",
        "Replays of SMPI traces need SimGrid itself. Run the scheduler on Batsim, or leave such jobs out.",
        "error",
    ),
    Rule(
        "profile.no-work",
        "A parallel task without work",
        "Batsim aborts when a homogeneous profile has nothing to compute on its only executor. Give it some flops, or "
        "use a delay.",
        "error",
    ),
    Rule(
        "profile.return-code",
        "A job returns less than -2",
        "Batsim 5.0.0-rc2 takes a return code of -1 for the walltime and -2 for a kill, and aborts on anything below.",
        "error",
    ),
    Rule(
        "profile.infinite",
        "A profile that would never end",
        "Batsim aborts on infinite amounts, and on an infinite delay of a job without walltime. Use finite numbers.",
        "error",
    ),
    Rule(
        "profile.staging",
        "Batsim cannot transfer data between storages",
        "Batsim 5.0.0-rc2 aborts when it executes a ParallelTaskDataStagingBetweenStoragesProfile with bytes to "
        "transfer. Simulated with corrected=True (--corrected), it is done.",
        "error",
    ),
    Rule(
        "profile.other-workload",
        "A sequence of another workload's profiles",
        "Without profile_reuse, Batsim 5.0.0-rc2 aborts when a job with such a sequence has ended. Register copies of "
        "the profiles in the sequence's own workload, or request profile_reuse.",
        "error",
    ),
    Rule(
        "profile.trace-unreadable",
        "A registered trace cannot be read",
        "Batsim reads the file of a trace when its profile is registered, relative to its own working directory, and "
        "aborts if it is not there. Register the absolute name of a file that lists one file per rank.",
        "error",
    ),
    Rule(
        "job.no-executors",
        "A job without executors runs a parallel task",
        "A job that requests 0 hosts can only run delays.",
        "error",
    ),
    Rule(
        "job.profile-size",
        "The profile is for another number of executors",
        "A parallel task with fixed amounts fits jobs that request as many hosts as it has executors, also inside a "
        "sequence.",
        "error",
    ),
    Rule(
        "job.usage-hosts",
        "Too few hosts for a usage trace",
        "Each rank of a usage trace needs a host of its own. Allocate as many as it has ranks.",
        "error",
    ),
    Rule(
        "hosts.change-crosses",
        "A host changes its power state when its switch is done",
        "Batsim 5.0.0-rc2 aborts if a ChangeHostsPStateEvent acts on a host between the end of its switch and the "
        "report of it. Wait for the HostsTurnedOnOffEvent.",
        "error",
    ),
    Rule(
        "probe.senseless",
        "A probe that makes no sense",
        "Power and computation load are measured of hosts, network load of links, and normalized loads cannot be "
        "accumulated. Choose other resources or metrics.",
        "error",
    ),
    Rule(
        "probe.link-unknown",
        "There is no such link",
        "A probe observes links by the names that the platform gives them.",
        "error",
    ),
    Rule(
        "probe.unknown",
        "There is no such probe",
        "Only a probe that runs can be triggered or reset. Create it, and do not stop it before.",
        "error",
    ),
    Rule(
        "platform.no-route",
        "SimGrid dies on a route",
        "SimGrid searches for a route when bytes need it, and dies if a dragonfly lacks the router for it, or if "
        "coordinates are missing in a zone with the routing Vivaldi. Correct the platform.",
        "error",
    ),
    Rule(
        "stop.task-running",
        "Batsim is stopped while a parallel task runs",
        "Batsim 5.0.0-rc2 aborts on a ForceSimulationStopEvent while a parallel task runs. Kill running jobs in the "
        "same reply, before the stop, or simulate with corrected=True (--corrected).",
        "error",
    ),
)

SIMULATOR_RULES: Final[Mapping[str, Rule]] = {rule.id: rule for rule in _ALL}
"""The rules by id. The simulator also uses those of `batprotocol.conversation.RULES`."""


class SimulatorViolation(Violation, frozen=True):
    """A rule that was broken, found by the simulator."""

    RULES: ClassVar[Mapping[str, Rule]] = {**RULES, **SIMULATOR_RULES}


class Refusals:
    """Creates the exceptions for decisions that cannot be carried out.

    Attributes:
        number: the number of the last message, of all messages of both sides.
    """

    def __init__(self) -> None:
        self.number = 0

    def refusal(self, rule: str, text: str, severity: Literal["error", "deadlock"] = "error") -> RuleViolation:
        """The exception for this rule."""
        return RuleViolation([SimulatorViolation(self.number + 1, "", rule, severity, text)])
