"""A connection to an MQTT broker. It keeps subscriptions and messages while the broker is away, and ends in time.

Only one thread uses paho-mqtt. It connects, connects again when the connection is lost, and takes the messages to
publish from a queue. So no lock is held while paho works, and the number of unconfirmed messages is limited: paho sends
all waiting messages when it connects again, and brokers disconnect clients that send too many at once.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import logging
import selectors
import socket
import ssl
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast
from urllib.parse import SplitResult, unquote, urlsplit

from batprotocol._util.requirements import installing
from batprotocol.errors import EncodeError, PackageMissing, PeerGone, PeerSilent, ProtocolError, shown

if TYPE_CHECKING:
    from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

__all__ = [
    "DEFAULT_PORTS",
    "Broker",
    "BrokerConnection",
    "Inbox",
    "Received",
    "Will",
    "logger",
]


# The address of a broker, as commands and programs are given it


DEFAULT_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class Broker:
    """An MQTT broker.

    Args:
        host: its name or address.
        port: its port, by default 1883. With TLS it is usually 8883.
        username: the name to log in with.
        password: the password that goes with it.
        tls: how to encrypt, for example `ssl.create_default_context(cafile="ca.crt")`; None for not at all.

    >>> Broker.parse("node-a:1884")
    Broker(host='node-a', port=1884, username=None, tls=None)
    >>> str(Broker.parse("mqtt://me:secret@[::1]"))
    '[::1]:1883'
    """

    host: str
    port: int = 1883
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        if not self.host or any(character.isspace() or character == "\0" for character in self.host):
            raise ValueError(f"expected the name of a host, got {self.host!r}")
        if not 0 < self.port < 65_536:
            raise ValueError(f"expected a port from 1 to 65535, got {self.port}")
        if self.password is not None and not self.username:
            raise ValueError("a password goes with a username")

    @classmethod
    def parse(cls, text: str) -> Broker:
        """The broker that `HOST`, `HOST:PORT` or `mqtts://USER:PASSWORD@HOST:PORT` names.

        `mqtts` is encrypted, and the certificate is checked against those that the system trusts.

        Raises:
            ValueError: it names none.
        """
        try:
            parts = urlsplit(text if "://" in text else f"mqtt://{text}")
            return cls._of(parts)
        except ValueError as error:
            expected = "expected HOST, HOST:PORT or mqtts://USER:PASSWORD@HOST:PORT"
            raise ValueError(f"{expected}, got {_without_password(text)!r}: {error}") from None

    @classmethod
    def _of(cls, parts: SplitResult) -> Broker:
        if parts.scheme not in DEFAULT_PORTS:
            raise ValueError(f"there is no {parts.scheme}, only mqtt and mqtts")
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError("nothing can stand behind the port")
        return cls(
            parts.hostname or "",
            DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port,
            None if parts.username is None else unquote(parts.username),
            None if parts.password is None else unquote(parts.password),
            ssl.create_default_context() if parts.scheme == "mqtts" else None,
        )

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _without_password(text: str) -> str:
    return f"...@{text.rpartition('@')[2]}" if "@" in text else text


@dataclass(frozen=True)
class Will:
    """A message that the broker publishes when the connection is lost and was not closed.

    Args:
        topic: the topic.
        payload: what it says.
        qos: the quality of service, 0 to 2.
    """

    topic: str
    payload: bytes = b""
    qos: int = 1


# The inbox: calls from the thread of a connection to an event loop of asyncio


AT_ONCE: Final = 100
"""The number of calls in a row before coroutines get their turn."""


class Inbox:
    """Calls in the current event loop, one after the other, in the order of `tell`.

    If a call returns a coroutine, this runs beside the others. `until_stopped` raises the first exception of any of
    them.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[None] = self._loop.create_future()
        self._told: deque[Callable[[], Any]] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()

    def tell(self, call: Callable[[], Any]) -> None:
        """Schedule this call. For one other thread."""
        self._told.append(call)
        if len(self._told) == 1:
            self._soon(self._take)

    def stop(self) -> None:
        """Let `until_stopped` return. For any thread, and for signal handlers."""
        self._soon(self._stop)

    def start(self, coroutine: Coroutine[Any, Any, Any], *, stop_after: bool = False) -> asyncio.Task[Any]:
        """Run a coroutine beside the others. For the thread of the event loop."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, stop_after))
        return task

    async def until_stopped(self) -> None:
        """Wait until `stop` is called or something raises; then cancel what still runs."""
        try:
            await self._end
        finally:
            if not self._end.done():
                self._end.cancel()
            running = [task for task in self._tasks if task is not asyncio.current_task()]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _soon(self, call: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    def _take(self) -> None:
        for _ in range(AT_ONCE):
            if not self._told or self._end.done():
                return
            try:
                given = self._told[0]()
            except Exception as error:
                self._fail(error)
            else:
                if inspect.iscoroutine(given):
                    self.start(given)
            self._told.popleft()  # only now: until then, `tell` need not wake the loop
        if self._told:
            self._loop.call_soon(self._take)

    def _ended(self, stop_after: bool, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)
        elif stop_after:
            self._stop()

    def _fail(self, error: BaseException) -> None:
        if not self._end.done():
            self._end.set_exception(error)

    def _stop(self) -> None:
        if not self._end.done():
            self._end.set_result(None)


logger = logging.getLogger("batprotocol.fast")

KEEPALIVE: Final = 60
"""Seconds: what all programs of FaST have."""

PAUSE: Final = 1.0
"""Seconds between two attempts to connect again, as in the programs of FaST."""

GRACE: Final = 1.2
"""Seconds before messages go to a broker that was killed: subscribers need the pause to connect again."""

TICK: Final = 1.0
"""Seconds after which paho checks whether the broker still answers."""

SESSION: Final = 3600
"""Seconds that the broker keeps what it has for a connection that was lost. It forgets one that was closed."""

WINDOW: Final = 20
"""How many messages are on their way at once: what brokers take unless they say otherwise."""

LARGEST: Final = 268_435_455 - 65_600
"""Bytes that a payload can have, by MQTT, with the longest topic beside it."""

PACKET: Final = 2**24
"""Bytes of what brokers may send: four times what is read (`fast.wire`). They drop what is larger."""

_Connection = TypeVar("_Connection", bound="BrokerConnection")


class Received(NamedTuple):
    """A message as it came.

    Attributes:
        topic: its topic.
        payload: what it says.
        qos: the quality of service that it came with.
        retained: whether the broker had kept it from before.
        number: its number on this connection, 0 where the quality of service is 0.
    """

    topic: str
    payload: bytes
    qos: int
    retained: bool
    number: int


class BrokerConnection:
    """A connection to a broker. Use it in a `with`, which opens and closes it.

    Args:
        broker: where the broker is, as `Broker` or in the form `HOST:PORT`.
        subscriptions: the topics to subscribe to, which may have wildcards, with the quality of service of each.
        on_message: called with each message, in the thread of the connection: it must be quick.
        client_id: what the broker calls this connection; two of the same name would end each other again and again.
            Unless given, a new one is made up.
        will: what the broker says when this connection is lost.
        on_change: called when the connection is lost and when it is there again, with whether it is there.
        on_tick: called between messages, and after as many seconds as it returns, or a few more.

    Attributes:
        refusal: why the broker did not take a message, "" if it took all.

    Raises:
        PackageMissing: paho-mqtt is not installed.
        EncodeError: a subscription is not a topic.
        ValueError: this is not the address of a broker.

    Messages that are published while the broker is away are kept, and sent when it is back. It is unknown which
    messages a killed broker has delivered: such a message may come twice, or be lost. Messages of quality of service 0
    are lost with the connection.
    """

    def __init__(
        self,
        broker: Broker | str,
        subscriptions: Mapping[str, int],
        on_message: Callable[[Received], None],
        *,
        client_id: str = "",
        will: Will | None = None,
        on_change: Callable[[bool], None] | None = None,
        on_tick: Callable[[], float] | None = None,
    ) -> None:
        self.broker = Broker.parse(broker) if isinstance(broker, str) else broker
        for each in subscriptions:
            _expect_filter(each)
        self.client_id = client_id or f"batprotocol-{uuid.uuid4().hex[:12]}"
        self._subscriptions = dict(subscriptions)
        self._on_message = on_message
        self._on_change = on_change
        self._on_tick = on_tick
        self._will = will
        self._client = self._made()
        self._wanted: deque[tuple[str, bytes, int]] = deque()
        self._changed = threading.Condition()
        self._on_the_way: dict[int, tuple[str, bytes, int]] = {}
        self._window = WINDOW
        self._largest = LARGEST
        self._ready = False
        self._was_there = False
        self._forgotten = False
        self._silent_until = 0.0
        self.refusal = ""
        self._leaving: float | None = None
        self._end: ProtocolError | None = None
        self._awake = False
        self._wake, self._waker = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="batprotocol MQTT", daemon=True)

    def _made(self) -> Client:
        try:
            from paho.mqtt.client import Client, MQTTv5
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError:
            raise PackageMissing(f"MQTT needs the package paho-mqtt: {installing('fast')}") from None
        client = Client(CallbackAPIVersion.VERSION2, self.client_id, protocol=MQTTv5)
        client.username_pw_set(self.broker.username, self.broker.password)
        if self.broker.tls is not None:
            client.tls_set_context(self.broker.tls)
        if self._will is not None:
            client.will_set(self._will.topic, self._will.payload, self._will.qos)
        client.max_inflight_messages_set(0)  # it is this class that waits
        properties = _expiry("CONNECT", SESSION)
        properties.MaximumPacketSize = PACKET
        client.connect_async(self.broker.host, self.broker.port, KEEPALIVE, properties=properties)
        client.on_socket_open = _send_at_once
        client.on_connect = self._greeted
        client.on_subscribe = self._subscribed
        client.on_disconnect = self._disconnected
        client.on_message = self._received
        client.on_publish = self._delivered
        return client

    # For those who use it

    @property
    def is_ready(self) -> bool:
        """Whether the broker is there, and has all subscriptions."""
        return self._ready

    @property
    def end(self) -> ProtocolError | None:
        """Why this connection has ended and does not come back; None if it has not."""
        return self._end

    def open(self, timeout: float = 10.0) -> None:
        """Connect, and return when the broker has all subscriptions.

        Raises:
            PeerGone: there is no broker, or it refuses the connection or a subscription.
            PeerSilent: the peer does not answer as a broker within these seconds.
        """
        self._thread.start()
        atexit.register(self.close)
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._end is not None, timeout)
            end = self._end
        if end is None and not self._ready:
            end = PeerSilent(f"what is at {self.broker} does not answer as an MQTT broker within {timeout:g} seconds")
        if end is not None:
            self.close(0.0)
            raise end

    def publish(self, topic: str, payload: bytes, qos: int) -> None:
        """Publish a message: at once, or when the broker is there again.

        Raises:
            EncodeError: it is larger than MQTT or this broker takes, or this is no topic.
            ProtocolError: the connection was closed, or has ended.
        """
        _expect_topic(topic)
        if len(payload) + len(topic) > self._largest:
            raise EncodeError(f"a message of {len(payload):,} bytes is too large: {self._largest:,} are the limit")
        with self._changed:
            if self._end is not None or self._leaving is not None:
                raise self._end or ProtocolError(f"the connection to {self.broker} is closed")
            self._wanted.append((topic, payload, qos))
        self._rouse()

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until the broker has all that was published; whether it has, within these seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._missing or self._end is not None, timeout)
            return not self._missing

    def close(self, timeout: float = 5.0) -> None:
        """Give the broker what it does not have yet, within these seconds, and end. Closing twice does nothing."""
        atexit.unregister(self.close)
        if self._thread.is_alive():
            if not self.flush(timeout):
                logger.warning("%d messages have not reached the broker at %s", self._missing, self.broker)
            self._leaving = time.monotonic() + TICK
            with suppress(OSError):  # it may have ended by itself
                self._rouse(True)
            self._thread.join()
        self._leaving = self._leaving or time.monotonic()
        self._wake.close()
        self._waker.close()

    def __enter__(self: _Connection) -> _Connection:
        self.open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def _missing(self) -> int:
        """How many messages the broker does not have yet."""
        return len(self._wanted) + len(self._on_the_way)

    def _rouse(self, always: bool = False) -> None:
        if not self._awake or always:
            self._awake = True
            with suppress(BlockingIOError):
                self._waker.send(b"\0")

    # The thread

    def _run(self) -> None:
        try:
            while self._goes_on():
                try:
                    self._client.reconnect()
                    self._stay(self._client)
                except (OSError, UnicodeError) as error:
                    self._missed(f"there is no broker at {self.broker}: {_reason(error)}")
                except Exception as error:  # paho's, of what is no MQTT
                    self._missed(f"what is at {self.broker} does not speak MQTT: {error}")
                self._set_ready(False)
                if self._forgotten:
                    self._begin_anew()
                else:
                    self._pause()
        finally:
            del self._client  # paho closes its sockets when nobody knows it any more

    def _begin_anew(self) -> None:
        """The broker was killed, and knows nothing of what was on its way to it: send all that again."""
        self._wanted.extendleft(reversed(self._on_the_way.values()))
        self._on_the_way.clear()
        self._forgotten = False
        self._client = self._made()

    def _goes_on(self) -> bool:
        return self._leaving is None and self._end is None

    def _pause(self) -> None:
        """Wait before the next attempt, unless there is none."""
        until = time.monotonic() + PAUSE
        while self._goes_on() and (rest := until - time.monotonic()) > 0:
            self._wake.settimeout(min(rest, self._tick()))
            with suppress(TimeoutError):
                self._drain()

    def _drain(self) -> None:
        self._wake.recv(4096)
        self._awake = False

    def _tick(self) -> float:
        """How long to wait at most; more than nothing."""
        tick = TICK if self._on_tick is None else min(TICK, self._on_tick())
        silence = self._silent_until - time.monotonic()
        return max(0.001, min(tick, silence) if silence > 0 else tick)

    def _stay(self, client: Client) -> None:
        """Move messages until the connection is lost or left."""
        connected = cast(socket.socket, client.socket())
        farewell = False
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            selector.register(connected, selectors.EVENT_READ)
            pending = getattr(connected, "pending", _nothing)  # what TLS has read already
            before = selectors.EVENT_READ
            while client.socket() is connected and (self._leaving is None or time.monotonic() < self._leaving):
                self._feed(client)
                if not self._goes_on() and not farewell:
                    farewell = True
                    client.disconnect(properties=_expiry("DISCONNECT", 0))
                    continue
                interest = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.want_write() else 0)
                if interest != before:
                    before = selector.modify(connected, interest).events
                happened = {key.fileobj: events for key, events in selector.select(0 if pending() else self._tick())}
                if self._wake in happened:
                    self._drain()
                events = happened.get(connected, 0)
                if events & selectors.EVENT_WRITE:
                    client.loop_write()
                if events & selectors.EVENT_READ or pending():
                    client.loop_read()
                client.loop_misc()

    def _feed(self, client: Client) -> None:
        """Give paho what is to be published, as much as may be on its way."""
        if not self._wanted or time.monotonic() < self._silent_until:
            return
        while self._ready and self._wanted and len(self._on_the_way) < self._window:
            topic, payload, qos = self._wanted[0]  # it stays there, so that it is missing until it is on its way
            number = client.publish(topic, payload, qos).mid
            if qos:
                self._on_the_way[number] = topic, payload, qos
            self._wanted.popleft()
        self._tell_when_done()

    def _tell_when_done(self) -> None:
        if not self._missing:
            with self._changed:
                self._changed.notify_all()

    def _set_ready(self, ready: bool) -> None:
        if ready != self._ready:
            with self._changed:
                self._ready = ready
                self._changed.notify_all()
            if self._on_change is not None:
                self._on_change(ready)

    def _ended(self, error: ProtocolError) -> None:
        """There is no use in connecting again."""
        with self._changed:
            self._end = self._end or error
            self._changed.notify_all()

    def _missed(self, reason: str) -> None:
        """The connection did not come about, or is lost: the first time it is said so, later it is tried again."""
        if not self._was_there:
            self._ended(PeerGone(reason))

    # What paho calls, in the thread

    def _greeted(
        self, client: Client, data: Any, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._missed(f"the broker at {self.broker} refuses the connection: {reason}")
            return
        if self._was_there and not flags.session_present:
            self._silent_until = time.monotonic() + GRACE
            if self._on_the_way:  # paho would send it at once, and end what it believes to be half done
                self._forgotten = True
                client.disconnect()
                return
        self._window = min(WINDOW, getattr(properties, "ReceiveMaximum", WINDOW))
        self._largest = min(LARGEST, getattr(properties, "MaximumPacketSize", LARGEST) - 16)
        if self._subscriptions:
            client.subscribe(list(self._subscriptions.items()))
        else:
            self._arrived()

    def _subscribed(
        self, client: Client, data: Any, number: int, reasons: list[ReasonCode], properties: Properties | None
    ) -> None:
        for topic, reason in zip(self._subscriptions, reasons, strict=False):
            if reason.is_failure:
                self._ended(PeerGone(f"the broker at {self.broker} refuses the subscription to {topic}: {reason}"))
                return
        self._arrived()

    def _arrived(self) -> None:
        if self._was_there:
            logger.warning("the broker at %s is there again", self.broker)
        self._was_there = True
        self._set_ready(True)

    def _disconnected(
        self, client: Client, data: Any, flags: DisconnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if self._leaving is None:
            self._missed(f"what is at {self.broker} ended the connection: {reason}")
            if self._ready:
                why = f" ({reason})" if flags.is_disconnect_packet_from_server else ""
                logger.warning("the broker at %s is gone%s: trying again every second", self.broker, why)
        self._set_ready(False)

    def _received(self, client: Client, data: Any, message: MQTTMessage) -> None:
        try:
            topic = message.topic
        except UnicodeDecodeError:
            return  # no topic of MQTT
        received = Received(topic, bytes(message.payload), message.qos, message.retain, message.mid)
        try:
            self._on_message(received)
        except Exception:  # without this thread, all would stand still
            logger.exception("a fault of batprotocol itself, please report it: at a message on %s", topic)

    def _delivered(
        self, client: Client, data: Any, number: int, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if number in self._on_the_way:
            del self._on_the_way[number]
            if reason.is_failure:
                self.refusal = str(reason)
                logger.warning("the broker at %s does not take a message: %s", self.broker, reason)
            self._feed(client)
            self._tell_when_done()


def _expect_topic(topic: str) -> None:
    """EncodeError unless something can be published there: paho's errors would come in the thread."""
    _expect_name(topic)
    if "+" in topic or "#" in topic:
        raise EncodeError(f"expected a topic without + and #, got {shown(topic)}")


def _expect_filter(topic: str) -> None:
    """EncodeError unless one can subscribe to it: # is the last level, and + a whole one."""
    _expect_name(topic)
    levels = topic.split("/")
    if "#" in "".join(levels[:-1]) or any(level not in ("+", "#") and {"+", "#"} & set(level) for level in levels):
        raise EncodeError(f"expected a topic whose levels may be +, and # the last one, got {shown(topic)}")


def _expect_name(topic: str) -> None:
    if not topic or "\0" in topic or len(topic.encode("utf-8", "surrogatepass")) > 65_535:
        raise EncodeError(f"expected a topic of 1 to 65,535 bytes without NUL, got {shown(topic)}")
    if any("\ud800" <= character <= "\udfff" for character in topic):
        raise EncodeError(f"expected a topic of Unicode characters, got {shown(topic)}")


def _send_at_once(client: Client, data: Any, opened: Any) -> None:
    """Let small packets not wait for the acknowledgement of those before: each message takes several to and fro."""
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _expiry(packet: str, seconds: int) -> Properties:
    """How long the broker is to keep what it has for a connection that is lost or closed."""
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties = Properties(getattr(PacketTypes, packet))  # type: ignore[no-untyped-call]  # of paho
    properties.SessionExpiryInterval = seconds
    return properties


def _reason(error: Exception) -> str:
    """The message of a system error, as a part of a sentence."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return reason[0].lower() + reason[1:]


def _nothing() -> int:
    return 0
