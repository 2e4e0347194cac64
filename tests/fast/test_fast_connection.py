"""Connections to a real broker: what is published arrives, subscriptions outlive the broker, and nothing is left."""

from __future__ import annotations

import logging
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from brokers import PATIENCE, Mosquitto
from fast_nodes import own_sockets, own_threads
from hypothesis import given
from hypothesis import strategies as st
from processes import ENVIRONMENT
from servers import find

from batprotocol import EncodeError, PeerGone, PeerSilent, ProtocolError
from batprotocol.fast import Broker, Will
from batprotocol.fast.runtime import connection as room
from batprotocol.fast.runtime.connection import BrokerConnection, Received

WITHOUT_ENGINE = True


class Heard:
    """What a connection has received."""

    def __init__(self) -> None:
        self.messages: list[Received] = []
        self._changed = threading.Condition()

    def __call__(self, received: Received) -> None:
        with self._changed:
            self.messages.append(received)
            self._changed.notify_all()

    @property
    def payloads(self) -> list[bytes]:
        return [message.payload for message in self.messages]

    def wait_for(self, condition: Callable[[list[bytes]], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.payloads), PATIENCE), self.payloads


def nothing(received: Received) -> None:
    raise AssertionError(received)


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_is_published_arrives_once_and_in_order(mosquitto: Mosquitto, qos: int) -> None:
    heard = Heard()
    with (
        BrokerConnection(mosquitto.address, {"a/#": 2}, heard),
        BrokerConnection(mosquitto.address, {}, nothing) as other,
    ):
        for number in range(100):
            other.publish(f"a/{number % 3}", b"%d" % number, qos)
        heard.wait_for(lambda payloads: len(payloads) >= 100)
    assert heard.payloads == [b"%d" % number for number in range(100)]
    assert {message.qos for message in heard.messages} == {qos}


def test_nothing_is_lost_when_the_connection_is_closed_at_once(mosquitto: Mosquitto) -> None:
    heard = Heard()
    with BrokerConnection(mosquitto.address, {"end": 2}, heard):
        with BrokerConnection(mosquitto.address, {}, nothing) as other:
            for number in range(200):
                other.publish("end", b"%d" % number, 2)
        heard.wait_for(lambda payloads: len(payloads) == 200)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError"])
def test_nothing_is_lost_when_the_process_ends_without_closing(mosquitto: Mosquitto, end: str) -> None:
    code = f"""
import sys
from batprotocol.fast.runtime.connection import BrokerConnection
connection = BrokerConnection({mosquitto.address!r}, {{}}, print)
connection.open()
for number in range(50):
    connection.publish("end", b"%d" % number, 2)
{end}
"""
    heard = Heard()
    with BrokerConnection(mosquitto.address, {"end": 2}, heard):
        subprocess.run(
            [sys.executable, "-c", code], env=ENVIRONMENT, check=False, timeout=PATIENCE, capture_output=True
        )
        heard.wait_for(lambda payloads: len(payloads) == 50)


@pytest.mark.slow
def test_a_broker_that_is_killed_is_waited_for(own_mosquitto: Mosquitto, caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    changes: list[bool] = []
    with (
        BrokerConnection(own_mosquitto.address, {"a": 2}, heard) as one,
        BrokerConnection(own_mosquitto.address, {}, nothing, on_change=changes.append) as other,
    ):
        other.publish("a", b"before", 2)
        heard.wait_for(lambda payloads: b"before" in payloads)
        own_mosquitto.kill()
        for number in range(60):  # three times as many as a broker takes at once
            other.publish("a", b"%d" % number, 2)
        assert not other.flush(0.05)
        own_mosquitto.start()
        assert other.flush(PATIENCE)
        until = threading.Event()
        while not one.is_ready:
            until.wait(0.01)
        other.publish("a", b"after", 2)
        heard.wait_for(lambda payloads: b"after" in payloads)
    assert changes == [True, False, True, False]
    assert "is gone: trying again every second" in caplog.text
    assert "is there again" in caplog.text


def test_no_thread_and_no_socket_is_left(own_mosquitto: Mosquitto) -> None:
    before = own_sockets()
    for _ in range(3):
        with BrokerConnection(own_mosquitto.address, {"#": 2}, lambda received: None) as connection:
            connection.publish("a", b"", 2)
            assert len(own_threads()) == 1
        connection.close()
    with BrokerConnection(own_mosquitto.address, {}, nothing) as connection:
        own_mosquitto.kill()
        connection.publish("a", b"never", 2)
        connection.close(0.1)
    with pytest.raises(PeerGone):
        BrokerConnection(own_mosquitto.address, {}, nothing).open()
    assert own_threads() == []
    assert own_sockets() == before


def test_who_is_not_there_or_is_no_broker_is_told() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(PeerGone, match=f"there is no broker at {address}: connection refused"):
            BrokerConnection(address, {}, nothing).open()
        server.listen()
        with pytest.raises(PeerSilent, match=r"does not answer as an MQTT broker within 0\.1 seconds"):
            BrokerConnection(address, {}, nothing).open(0.1)
    with pytest.raises(PeerGone, match=r"there is no broker at no\.such\.host\.invalid:1883: "):
        BrokerConnection("no.such.host.invalid", {}, nothing).open()


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 100, b"", b"\x20\x02\x00\x05", b"\x20\xff\xff\xff\xff\xff"],
)
def test_what_speaks_no_mqtt_is_told(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(100)
                peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with pytest.raises((PeerGone, PeerSilent), match=r"127\.0\.0\.1"):
                BrokerConnection(f"127.0.0.1:{server.getsockname()[1]}", {}, nothing).open(2)
        finally:
            thread.join()
    assert own_threads() == []


def test_passwords_and_refusals(tmp_path: Path) -> None:
    passwords, access = tmp_path / "passwords", tmp_path / "access"
    subprocess.run([find("mosquitto_passwd"), "-b", "-c", passwords, "me", "secret"], check=True)
    access.write_text("user me\ntopic readwrite allowed/#\n")
    settings = f"allow_anonymous false\npassword_file {passwords}\nacl_file {access}"
    with Mosquitto(tmp_path, settings=settings) as broker:
        with pytest.raises(PeerGone, match="refuses the connection: Not authorized"):
            BrokerConnection(broker.address, {}, nothing).open()
        mine = Broker("127.0.0.1", broker.port, "me", "secret")
        assert "secret" not in repr(mine)
        heard = Heard()
        with BrokerConnection(mine, {"allowed/#": 2}, heard) as connection:
            connection.publish("allowed/a", b"1", 2)
            heard.wait_for(lambda payloads: payloads == [b"1"])
            connection.publish("forbidden", b"2", 1)
            assert connection.flush()
            assert connection.refusal == "Not authorized"
        with pytest.raises(PeerGone, match="refuses"):
            BrokerConnection(Broker("127.0.0.1", broker.port, "me", "wrong"), {}, nothing).open()


@pytest.mark.slow
def test_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = [find("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    heard = Heard()
    with Mosquitto(tmp_path, f"certfile {certificate}", f"keyfile {key}") as broker:
        trusting = Broker("127.0.0.1", broker.port, tls=ssl.create_default_context(cafile=str(certificate)))
        with BrokerConnection(trusting, {"a": 2}, heard) as connection:
            for number in range(50):
                connection.publish("a", b"%d" % number * 1000, 2)
            heard.wait_for(lambda payloads: len(payloads) == 50)
        with pytest.raises(PeerGone, match="certificate verify failed"):
            BrokerConnection(f"mqtts://{broker.address}", {}, nothing).open()


@pytest.mark.slow
def test_the_last_will_is_said_when_the_connection_is_lost_only(mosquitto: Mosquitto) -> None:
    code = f"""
import os
from batprotocol.fast import Will
from batprotocol.fast.runtime.connection import BrokerConnection
with BrokerConnection({mosquitto.address!r}, {{}}, print, will=Will("will", b"lost")):
    os._exit(0)
"""
    heard = Heard()
    with BrokerConnection(mosquitto.address, {"will": 2}, heard) as connection:
        with BrokerConnection(mosquitto.address, {}, nothing, will=Will("will", b"closed")):
            pass
        subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True, timeout=PATIENCE)
        heard.wait_for(lambda payloads: b"lost" in payloads)
        connection.publish("will", b"end", 1)
        heard.wait_for(lambda payloads: b"end" in payloads)
    assert heard.payloads == [b"lost", b"end"]


def test_what_cannot_be_published_is_refused(mosquitto: Mosquitto) -> None:
    with (
        BrokerConnection(mosquitto.address, {}, nothing) as connection,
        pytest.raises(EncodeError, match="is too large"),
    ):
        connection.publish("a", bytes(room.LARGEST + 1), 1)
    with pytest.raises(ProtocolError, match="is closed"):
        connection.publish("a", b"", 1)


@pytest.mark.parametrize("topic", ["", "a/+", "#", "a\0", "\ud800", "a" * 65_536])
def test_what_is_no_topic_is_refused(mosquitto: Mosquitto, topic: str) -> None:
    with (
        BrokerConnection(mosquitto.address, {}, nothing) as connection,
        pytest.raises(EncodeError, match="expected a topic"),
    ):
        connection.publish(topic, b"", 1)


@pytest.mark.parametrize("topic", ["", "a#", "#/a", "a+/b", "a\0", "\ud800"])
def test_what_cannot_be_subscribed_to_is_refused(topic: str) -> None:
    with pytest.raises(EncodeError, match="expected a topic"):
        BrokerConnection("nowhere", {topic: 1}, nothing)


@pytest.mark.parametrize("topic", ["a", "+", "#", "a/+/b/#", "/", "+/+"])
def test_what_can_be_subscribed_to(mosquitto: Mosquitto, topic: str) -> None:
    with BrokerConnection(mosquitto.address, {topic: 1}, lambda received: None) as connection:
        assert connection.is_ready


def test_a_fault_while_a_message_is_taken_does_not_end_the_connection(
    mosquitto: Mosquitto, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()

    def take(received: Received) -> None:
        heard(received)
        if received.payload == b"bad":
            raise LookupError("lost")

    with caplog.at_level(logging.ERROR), BrokerConnection(mosquitto.address, {"a": 2}, take) as connection:
        connection.publish("a", b"bad", 2)
        connection.publish("a", b"good", 2)
        heard.wait_for(lambda payloads: payloads == [b"bad", b"good"])
    assert "LookupError: lost" in caplog.text


@pytest.mark.parametrize(
    ("text", "broker"),
    [
        ("node", Broker("node")),
        ("node:1", Broker("node", 1)),
        ("[::1]", Broker("::1")),
        ("[::1]:2", Broker("::1", 2)),
        ("mqtt://node", Broker("node")),
        ("mqtt://a%40b:c%3Ad@node:9/", Broker("node", 9, "a@b", "c:d")),
    ],
)
def test_addresses(text: str, broker: Broker) -> None:
    assert Broker.parse(text) == broker


@pytest.mark.parametrize(
    "text",
    ["", ":1", "a:b", "a:0", "a:65536", "a b", "http://a", "mqtt://:pw@a", "mqtt://a/b", "a?b", "[::1", "a\x00", "//"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="expected HOST, HOST:PORT or mqtts://USER:PASSWORD@HOST:PORT, got "):
        Broker.parse(text)


def test_no_password_is_told() -> None:
    with pytest.raises(ValueError, match="expected HOST") as caught:
        Broker.parse("mqtt://me:secret@node:x")
    assert "secret" not in str(caught.value)


@given(st.text())
def test_any_text_is_an_address_or_told(text: str) -> None:
    try:
        broker = Broker.parse(text)
    except ValueError as error:
        broker, reason = None, str(error)
    assert broker.host if broker else reason.startswith("expected HOST")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("paho", "fast.Cluster()"),
        ("re2", "from batprotocol.fast.runtime.hypervisor import matching; matching('.*', [])"),
        ("yaml", "from batprotocol.fast.wire import decode_alone; decode_alone(b'task: init')"),
    ],
)
def test_a_package_that_is_missing_is_told(package: str, code: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None\nfrom batprotocol import fast\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert "PackageMissing: " in done.stderr.splitlines()[-1]
    assert "pip install 'google-re2>=1.1' 'paho-mqtt>=2' 'pyyaml>=6'" in done.stderr
