"""Descriptions of OAR clusters, and the secrets that they name."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oar_jobs import described, requests_of
from oar_server import OarServer

from batprotocol.campaigns.managers._oar_api import OarApi, headers_of
from batprotocol.campaigns.managers.oar import OarCluster, read_description
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import ClusterError, InputError

WITHOUT_ENGINE = True


SECRET = "s3cret-of-alice"


@pytest.mark.parametrize("auth", ["password", "jwt"])
def test_secrets_are_in_no_message_and_no_store(
    server: OarServer, tmp_path: Path, auth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    monkeypatch.setenv("OAR_SECRET", SECRET)
    pair = base64.b64encode(f"alice:{SECRET}".encode()).decode()
    for where in ({"secret_file": str(secret)}, {"secret_variable": "OAR_SECRET"}):
        path = tmp_path / "oar.toml"
        described(path, url=server.url, user="alice", auth=auth, period=0.001, **where)
        cluster = OarCluster("luke", str(path), "m")
        cluster.submit(requests_of("true"))
        assert server.headers[-1]["Authorization"] == {"password": f"Basic {pair}", "jwt": f"Bearer {SECRET}"}[auth]
        messages = [repr(vars(cluster)), repr(cluster._api), str(cluster._description)]
        for fault in ("denied", "500", "cut", "redirect"):
            server.faults.append(("GET jobs/details", fault))
            with pytest.raises(ClusterError) as caught:
                cluster.look()
            messages += [str(caught.value), repr(caught.value), repr(caught.value.__context__)]
        listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        store = GridStore(str(tmp_path / "grid.db"))
        store.register(ClusterEntry(name="luke", batch="oar", address=str(path)))
        store.close()
        stored = [each.read_bytes() for each in tmp_path.rglob("*") if each.is_file() and each != secret]
        for text in (*messages, listing):
            assert SECRET not in text
            assert pair not in text
        assert not any(SECRET.encode() in text or pair.encode() in text for text in stored)
        cluster.forget([1])


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({}, "expected a key 'url'"),
        ({"type": "slurm"}, "expected \"oar\", got 'slurm'"),
        ({"url": "oar.example.org"}, "https://oar.example.org/oarapi"),
        ({"url": "http://[::1"}, "https://oar.example.org/oarapi"),
        ({"url": "http://h:99999/"}, "https://oar.example.org/oarapi"),
        ({"url": "https://alice:x@h/"}, "'secret_file'"),
        ({"url": "http://h/\r\nX: y"}, "url"),
        ({"url": "https://h/", "user": "a\r\nb"}, "user: expected a login"),
        ({"url": "https://h/", "header": "a: b"}, "header"),
        ({"url": "https://h/", "auth": "jwt"}, "'secret_file' and 'secret_variable'"),
        ({"url": "http://h/", "auth": "jwt", "secret_variable": "X"}, "https"),
        ({"url": "https://h/", "auth": "cert"}, "'certificate'"),
        ({"url": "https://h/", "time": 3}, "did you mean"),
        ({"url": "https://h/", "timeout": 0}, "timeout"),
    ],
)
def test_wrong_descriptions(tmp_path: Path, members: dict[str, object], words: str) -> None:
    path = tmp_path / "oar.toml"
    described(path, **members)
    with pytest.raises(InputError) as caught:
        read_description(str(path))
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


@settings(max_examples=30)
@given(st.binary())
def test_any_description_is_one_or_an_error(text: bytes) -> None:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"oar-description-{os.getpid()}"
    path.write_bytes(text)
    try:
        read_description(str(path))
    except InputError:
        return
    finally:
        path.unlink()


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    secret, path = tmp_path / "secret", tmp_path / "oar.toml"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    described(path, url="https://h/", auth="jwt", secret_file="secret")
    with pytest.raises(InputError, match="chmod 600"):
        OarApi(read_description(str(path)))
    secret.unlink()
    os.mkfifo(secret)
    with pytest.raises(InputError, match="expected a file, got a folder"):
        OarApi(read_description(str(path)))


@pytest.mark.parametrize("auth", ["password", "jwt"])
@pytest.mark.parametrize(
    ("secret", "auths"),
    [("", ()), ("two\nlines", ()), ("a\tb", ()), ("caf\u00e9", ("password",)), ("plain", ("password", "jwt"))],
)
def test_a_secret_is_one_line_that_a_header_can_have(
    secret: str, auths: tuple[str, ...], auth: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token is written into the header as it is; a password may have any printable sign."""
    monkeypatch.setenv("OAR_SECRET", secret)
    path = tmp_path / "oar.toml"
    described(path, url="https://h/", user="alice", auth=auth, secret_variable="OAR_SECRET")
    description = read_description(str(path))
    if auth in auths:
        assert headers_of(description)[1] == secret
    else:
        with pytest.raises(InputError, match="expected a password or token of one line in the environment variable"):
            headers_of(description)


def test_a_file_of_jobs_that_is_none(cluster: OarCluster, description: Path) -> None:
    Path(f"{description}.m.jobs").write_text("{")
    with pytest.raises(ClusterError, match="move it away"):
        OarCluster("luke", str(description), "m")
