"""The answers of a real slurmctld about a slurm.conf: its log, and the values that it prints.

It must not know our own reader. slurmctld runs in a folder of its own, without nodes that work, on a free port of the
loopback interface. The files are as they are given; only a few keys about this folder come after the last line of
slurm.conf, where they count.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ports import free_ports

from slurming.clusters import program

__all__ = ["OWN_KEYS", "Answer", "ask"]

OWN = {
    "SlurmctldPort": "{port}",
    "SlurmdPort": "{other}",
    "AuthType": "auth/none",
    "CredType": "cred/none",
    "SlurmUser": "{user}",
    "StateSaveLocation": "{folder}/state",
    "SlurmdSpoolDir": "{folder}/spool",
    "SlurmctldPidFile": "{folder}/slurmctld.pid",
    "SlurmdPidFile": "{folder}/slurmd.pid",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "MpiDefault": "none",
    "MailProg": "/bin/true",
}
OWN_KEYS = frozenset(map(str.lower, (*OWN, "SlurmctldHost")))
"""The keys that the files must not have, in lower case: they are about this machine."""
READY = "Running as primary controller"


class Answer(NamedTuple):
    """The answer of slurmctld about files.

    Attributes:
        refused: whether it does not start.
        log: its log, with the names of its folder removed.
        config: the output of `scontrol show config`, as of the following.
        partitions: a line for each partition.
        nodes: a line for each node.
        licenses: a line for each licence.
    """

    refused: bool
    log: str
    config: str = ""
    partitions: str = ""
    nodes: str = ""
    licenses: str = ""


def ask(files: Mapping[str, str], folder: Path, patience: float = 20.0, flags: tuple[str, ...] = ()) -> Answer:
    """Start slurmctld with these files, by name, ask what it has read, and end it.

    Args:
        files: the texts of the files: slurm.conf and those that it names.
        folder: a folder that does not exist.
        patience: the seconds that slurmctld may take.
        flags: more arguments, as `-v`.

    Raises:
        TimeoutError: slurmctld neither starts nor ends.
    """
    (folder / "state").mkdir(parents=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    port, other = free_ports(2)
    user, host = pwd.getpwuid(os.getuid()).pw_name, socket.gethostname()
    own = [f"{key}={value.format(port=port, other=other, user=user, folder=folder)}" for key, value in OWN.items()]
    own.append(f"SlurmctldHost={host}(127.0.0.1)")
    text = files["slurm.conf"]
    (folder / "slurm.conf").write_text("\n".join([text.rstrip("\n"), "", *own, ""]))
    client = folder / "client.conf"
    client.write_text("\n".join(["ClusterName=client", *own, ""]))
    link = folder / "slurmctld"  # it must be called by this name
    link.symlink_to(program("slurmctld-wlm") or program("slurmctld") or "")
    daemon = [link, "-c", "-D", *flags, "-f", folder / "slurm.conf"]
    output = folder / "output"
    with output.open("wb") as file:
        slurm = subprocess.Popen(daemon, env=_environment(folder / "slurm.conf"), cwd=folder, stdout=file, stderr=file)
    try:
        return _answer(slurm, folder, output, client, patience)
    finally:
        if slurm.poll() is None:
            slurm.send_signal(signal.SIGKILL)
        slurm.wait()


def _environment(conf: Path) -> dict[str, str]:
    return {**os.environ, "SLURM_CONF": str(conf), "TZ": "UTC"}


def _answer(slurm: subprocess.Popen[bytes], folder: Path, output: Path, client: Path, patience: float) -> Answer:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        ended = slurm.poll() is not None
        log = output.read_text(errors="replace").replace(f"{folder}/", "").replace("slurmctld: ", "")
        if ended or "fatal: " in log:  # it can hang after that word
            return Answer(True, log)
        if READY in log:
            said = [_shown(client, what) for what in ("config", "partition", "node", "license")]
            if "SLURM_VERSION" in said[0]:
                return Answer(False, log, *said)
        time.sleep(0.02)
    raise TimeoutError(output.read_text(errors="replace"))


def _shown(client: Path, what: str) -> str:
    found = subprocess.run(
        [shutil.which("scontrol") or "scontrol", "-o", "-a", "show", what],
        env=_environment(client),
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout if found.returncode == 0 else ""
