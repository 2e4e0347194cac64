"""Accounts, users and qualities of service of a Slurm site, with their shares and limits, as values.

Times are seconds, memory is in mebibytes. None stands for no limit. This module must not know the text of files.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["Accounting", "Association", "Limits", "Qos"]


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the accounting."""


class Limits(_Value, frozen=True, kw_only=True):
    """The most that jobs may have or be; an association has the first two groups, a quality of service all.

    Amounts of resources are by name in small letters: `cpu`, `node`, `mem`, `gres/gpu`...

    Attributes:
        jobs: running jobs of all below it (GrpJobs).
        submitted: running and waiting jobs of all below it (GrpSubmitJobs).
        accruing: waiting jobs of all below it that age (GrpJobsAccrue).
        tres: resources of all running jobs below it (GrpTRES).
        tres_minutes: resources multiplied with minutes, of all jobs below it, with decay (GrpTRESMins).
        tres_run_minutes: the same of the rest of the limits of running jobs (GrpTRESRunMins).
        wall: the seconds that all jobs below it may run together, with decay (GrpWall).
        jobs_each: running jobs of each user in an account (MaxJobs).
        submitted_each: running and waiting jobs of each user in an account (MaxSubmitJobs).
        accruing_each: waiting jobs of each user that age (MaxJobsAccrue).
        tres_job: resources of each job (MaxTRES).
        tres_node: resources of each job on a node (MaxTRESPerNode).
        tres_minutes_job: resources multiplied with minutes, of each job (MaxTRESMins).
        wall_job: the longest time limit, in seconds (MaxWall).
        tres_user: resources of running jobs of each user (MaxTRESPU).
        jobs_user: running jobs of each user (MaxJobsPU).
        submitted_user: running and waiting jobs of each user (MaxSubmitPU).
        tres_account: resources of running jobs of each account (MaxTRESPA).
        jobs_account: running jobs of each account (MaxJobsPA).
        submitted_account: running and waiting jobs of each account (MaxSubmitPA).
        least: the fewest resources of a job (MinTRES).
    """

    jobs: int | None = None
    submitted: int | None = None
    accruing: int | None = None
    tres: Mapping[str, int] = {}
    tres_minutes: Mapping[str, int] = {}
    tres_run_minutes: Mapping[str, int] = {}
    wall: float | None = None
    jobs_each: int | None = None
    submitted_each: int | None = None
    accruing_each: int | None = None
    tres_job: Mapping[str, int] = {}
    tres_node: Mapping[str, int] = {}
    tres_minutes_job: Mapping[str, int] = {}
    wall_job: float | None = None
    tres_user: Mapping[str, int] = {}
    jobs_user: int | None = None
    submitted_user: int | None = None
    tres_account: Mapping[str, int] = {}
    jobs_account: int | None = None
    submitted_account: int | None = None
    least: Mapping[str, int] = {}


class Association(_Value, frozen=True, kw_only=True):
    """An account, or a user in an account.

    Attributes:
        account: the account.
        user: the user; None: the account itself.
        partition: the partition for which a user's association holds; None: all others.
        parent: the account above an account; None for the root, and for users.
        shares: its part of the shares of its siblings (Fairshare); None: it has those of its parent.
        priority: its priority (Priority).
        limits: its limits.
        qos: the qualities of service that its jobs may have; None: those of its parent.
        default_qos: the quality of service of jobs that name none; None: that of its parent (DefaultQOS).
    """

    account: str
    user: str | None = None
    partition: str | None = None
    parent: str | None = None
    shares: int | None = 1
    priority: int = 0
    limits: Limits = Limits()
    qos: tuple[str, ...] | None = None
    default_qos: str | None = None


class Qos(_Value, frozen=True, kw_only=True):
    """A quality of service.

    Attributes:
        name: its name.
        priority: its priority (Priority).
        grace_time: seconds between a preemption and the kill of its jobs (GraceTime).
        preempts: the qualities whose jobs give way to its jobs (Preempt).
        preempt_mode: the fate of its jobs that are preempted; None: that of the cluster (PreemptMode).
        exempt_time: seconds that its jobs may run before they are preempted; None: that of the cluster.
        flags: its flags, such as `DenyOnLimit` (Flags).
        usage_factor: a factor of the usage that its jobs are charged (UsageFactor).
        usage_threshold: jobs of associations with a smaller fair-share factor do not start (UsageThreshold).
        limits: its limits.
    """

    name: str
    priority: int = 0
    grace_time: float = 0.0
    preempts: tuple[str, ...] = ()
    preempt_mode: str | None = None
    exempt_time: float | None = None
    flags: tuple[str, ...] = ()
    usage_factor: float = 1.0
    usage_threshold: float | None = None
    limits: Limits = Limits()


class Accounting(_Value, frozen=True, kw_only=True):
    """The accounting of a cluster.

    Attributes:
        cluster: the name of the cluster.
        associations: accounts and users; an account comes before all below it, and the root is the first.
        qos: the qualities of service, by name.
        default_accounts: the account of each user's jobs that name none.
        not_followed: the columns and options that are not followed, with file and line.
    """

    cluster: str = ""
    associations: tuple[Association, ...] = (Association(account="root"),)
    qos: Mapping[str, Qos] = {}
    default_accounts: Mapping[str, str] = {}
    not_followed: tuple[str, ...] = ()
