"""An sshd for tests, on the loopback interface, with keys of its own."""

from __future__ import annotations

import getpass
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import find, free_port

__all__ = ["running_sshd"]


@contextmanager
def running_sshd(folder: Path) -> Iterator[Path]:
    """An sshd, which takes SLURM_CONF from its clients; the configuration of `ssh` in which it is the host `site`."""
    sshd, ssh = find("sshd"), find("ssh")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    port = free_port()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\n"
        "AcceptEnv SLURM_CONF\n"
    )
    config = folder / "ssh_config"
    config.write_text(
        f"Host site\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n  IdentityFile {folder}/user\n"
        f"  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile {folder}/known\n"
        "  SendEnv SLURM_CONF\n  LogLevel ERROR\n"
    )
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    server = subprocess.Popen([sshd, "-D", "-f", folder / "sshd_config"], stderr=subprocess.DEVNULL)
    try:
        last = time.monotonic() + 60
        while subprocess.run([ssh, "-F", config, "site", "true"], capture_output=True, check=False).returncode:
            assert time.monotonic() < last, "sshd does not answer"
            time.sleep(0.1)
        yield config
    finally:
        server.kill()
        server.wait()
