"""Runs commands, here or on a host that OpenSSH reaches. Commands are lists of words: no shell reads them here.

Each call has a time limit and a limit on its output.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from batprotocol._util import children
from batprotocol.errors import InputError, shown
from batprotocol.sites.slurm.client.values import SlurmAway, SlurmError, error_of

__all__ = ["CommandRunner", "LocalRunner", "SshRunner", "runner_of"]

LONGEST: Final = 1 << 16
"""How many bytes of an error are read."""

_HOST: Final = re.compile(r"(?:[\w.+][\w.+-]{0,63}@)?[\w.:\[\]%][\w.:\[\]%-]{0,254}")

_OF_JOBS: Final = ("SALLOC_", "SBATCH_", "SCANCEL_", "SINFO_", "SLURM_", "SLURMD_", "SQUEUE_", "SRUN_")
_OF_SITES: Final = frozenset(("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS"))


class CommandRunner(Protocol):
    """Runs commands on some machine.

    Attributes:
        where: the machine, for errors; "" is this one.
    """

    where: str

    def run(self, words: Sequence[str], given: bytes = b"", *, timeout: float) -> bytes:
        """Run a command; return what it prints.

        Args:
            words: the program and its arguments. They reach it as they are.
            given: its standard input.
            timeout: after how many seconds it is killed.

        Raises:
            SlurmError: it has failed.
            SlurmAway: it took too long, or the machine cannot be reached. It may have had an effect.
        """


class LocalRunner:
    """Runs commands on this machine.

    Variables that Slurm sets for jobs, or takes as options of its commands, are removed from the environment, and with
    them the secrets.

    Args:
        secrets: the variables with secrets.
    """

    where = ""

    def __init__(self, secrets: Collection[str] = ()) -> None:
        self._secrets = frozenset(secrets)

    def run(self, words: Sequence[str], given: bytes = b"", *, timeout: float) -> bytes:
        status, printed, errors = _run(words, given, timeout, _environment(os.environ, self._secrets))
        if status != 0:
            raise _error(printed, errors, words[0])
        return printed


class SshRunner:
    """Runs commands on a host, by OpenSSH with the user's configuration.

    All commands share one connection, which ends a minute after the last one. The login shell there must read quotes as
    POSIX shells do.

    Args:
        host: the host or its alias in the configuration, with or without a user: `alice@login`.
        config: another file in place of `~/.ssh/config`, or "".
        connect_seconds: how long to wait for a connection.
        secrets: variables that are removed from the environment.
    """

    def __init__(self, host: str, config: str = "", connect_seconds: int = 10, secrets: Collection[str] = ()) -> None:
        if _HOST.fullmatch(host) is None:
            raise InputError(f"expected the name of a host, with or without USER@, got {shown(host)}", "host")
        self.where = host
        self._options = [
            *(("-F", os.path.expanduser(config)) if config else ()),
            *("-T", "-x", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={connect_seconds}"),
            *("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=2"),
            *_sharing(),
        ]
        self._secrets = frozenset(secrets)

    def run(self, words: Sequence[str], given: bytes = b"", *, timeout: float) -> bytes:
        line = ["ssh", *self._options, "--", self.where, shlex.join(words)]
        status, printed, errors = _run(line, given, timeout, _environment(os.environ, self._secrets))
        if status == 255:
            raise SlurmAway(f"ssh {self.where}: {children.last_line(errors) or 'it printed nothing'}")
        if status != 0:
            raise _error(printed, errors, words[0])
        return printed

    def close(self) -> None:
        """End the shared connection, if there is one."""
        line = ["ssh", *self._options, "-O", "exit", "--", self.where]
        try:
            _run(line, b"", 5, dict(os.environ))
        except SlurmError:
            return


def runner_of(host: str, config: str = "", secrets: Collection[str] = ()) -> CommandRunner:
    """The runner for `ssh:HOST`, or for this machine if the host is "".

    Raises:
        InputError: the host has another form.
    """
    if not host:
        return LocalRunner(secrets)
    kind, _, name = host.partition(":")
    if kind != "ssh":
        raise InputError(f'expected "ssh:HOST", got {shown(host)}', "host")
    return SshRunner(name, config, secrets=secrets)


def _run(
    words: Sequence[str], given: bytes, timeout: float, environment: Mapping[str, str]
) -> tuple[int, bytes, bytes]:
    """The exit status of a command, and what it has printed."""
    try:
        done = children.run(words, given, timeout=timeout, environment=environment)
    except children.NotStarted as error:
        raise SlurmError(str(error)) from None
    if done.trouble == "late":
        raise SlurmAway(f"{words[0]}: no answer within {timeout:g} s")
    if done.trouble == "long":
        raise SlurmError(f"{words[0]}: it printed more than {children.MOST_BYTES >> 20} MiB")
    if done.status < 0:
        raise SlurmAway(f"{words[0]}: it was killed by signal {-done.status}")
    return done.status, done.output, done.errors


def _error(printed: bytes, errors: bytes, program: str) -> SlurmError:
    """The error of a program, by the end of what it has printed."""
    return error_of((errors or printed)[-LONGEST:].decode("utf-8", "replace"), os.path.basename(program))


def _environment(variables: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    kept = {name: value for name, value in variables.items() if name in _OF_SITES or not name.startswith(_OF_JOBS)}
    return {name: value for name, value in kept.items() if name not in secrets}


def _sharing() -> tuple[str, ...]:
    """The options of OpenSSH that share a connection, if there is a folder for it that only this user can use."""
    if not hasattr(os, "getuid"):  # no users of POSIX: OpenSSH has no sockets to share a connection with
        return ()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    for parent in (runtime, "/tmp"):
        folder = Path(parent, f"batprotocol-ssh-{os.getuid()}")
        try:
            if not parent or len(str(folder)) > 40:  # a socket's path is short, and its name has 40 characters
                continue
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return ("-o", "ControlMaster=auto", "-o", f"ControlPath={folder}/%C", "-o", "ControlPersist=60")
    return ()
