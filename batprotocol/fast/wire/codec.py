"""The codec: a payload and its topic -> a message, and back.

In its dialect, the codec accepts and refuses the same payloads as fast-lib; the specification's dialect has the same
rules with its own words. It must not know of MQTT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, Final, TypeAlias, get_args

from msgspec.structs import replace

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.fast import values as v
from batprotocol.fast.messages import ROUTES, routes_on
from batprotocol.fast.topics import Channel, Topic
from batprotocol.fast.wire.emitter import Tree, emit
from batprotocol.fast.wire.nodes import LARGEST, MappingNode, Node, Refused, ScalarNode, SequenceNode, compose
from batprotocol.fast.wire.shapes import DIALECTS, Dialect, Reading, read_value, write_value
from batprotocol.fast.wire.words import decode_words, encode_words

__all__ = ["NO_TASK", "UNKNOWN_TASK", "decode", "decode_as", "encode", "task_word"]

NO_TASK: Final = "expected a key 'task' with the kind of the message"
"""The beginning of the reason for a payload without a kind on a topic of tasks."""
UNKNOWN_TASK: Final = "there is no such task"
"""The beginning of the reason for a payload of an unknown kind on a topic of tasks."""

_FLAT: Final[Mapping[str, tuple[str, ...]]] = {
    "fastlib": ("vm migrated",),
    "specification": ("vm migrated", "vm repinned"),
}
"""The results that have their one entry in the message itself, not in a list."""


def decode(payload: bytes, topic: Topic | str, *, dialect: Reading = "fastlib") -> v.FastMessage:
    """Read the payload that came on a topic.

    Args:
        payload: the bytes.
        topic: the topic, as a value or as a text.
        dialect: "fastlib" accepts the same payloads as the programs; "specification" requires its words; "any" accepts
            both, and prefers the words of the programs.

    Raises:
        DecodeError: this is not a message for that topic. The error has the line, the column and the path, such as
            `vm-configurations[1].pci-ids[0].vendor`.

    >>> decode(b"task: suspend vm\\nlist: [{vm-name: vm1}]\\nid: 7", "fast/migfra/node-a/task").id
    '7'
    >>> decode(b"task: repin vm\\nvm-name: vm1\\nvcpu-map: 0-3", "fast/migfra/node-a/task")
    Traceback (most recent call last):
        ...
    batprotocol.errors.DecodeError: vcpu-map, line 3, column 11: expected a list, found '0-3'
    """
    if isinstance(topic, str):
        topic = Topic.parse(topic)
    _known(dialect, get_args(Reading))
    message: v.FastMessage = _decode(_DISPATCH[topic.channel], payload, dialect)
    return message


def decode_as(cls: type[Any], payload: bytes, *, dialect: Reading = "fastlib") -> Any:
    """Read a payload of a known class: a message, or a part such as `VMResult` or `PCIId`.

    Raises:
        DecodeError: as in `decode`.

    >>> decode_as(v.PCIId, b"{vendor: 0x15b3, device: 0x1004}")
    PCIId(vendor=5555, device=4100)
    """
    _known(dialect, get_args(Reading))
    return _decode(cls, payload, dialect)


def encode(message: v.FastMessage | v.Part, *, dialect: Dialect = "fastlib") -> bytes:
    """Write a message, or a part of one.

    Args:
        message: the message.
        dialect: "fastlib" writes what fast-lib does, byte for byte; "specification" uses its words. What only one of
            them has, both write as that one.

    Raises:
        EncodeError: a value cannot be written. The error names its path.

    >>> print(encode(v.SuspendVM([v.VM("vm1")], id="7")).decode())
    ---
    task: suspend vm
    list:
      - vm-name: vm1
    id: 7
    ---
    """
    _known(dialect, DIALECTS)
    if _speaks_words(type(message), dialect):
        return encode_words(message)
    tree = _tree(message, dialect)
    if dialect == "fastlib":
        data = f"---\n{emit(tree) if tree else ''}\n---".encode()
    else:
        data = f"{emit(tree)}\n".encode()
    if len(data) > LARGEST:
        raise EncodeError(f"expected a message of at most {LARGEST:,} bytes, got {len(data):,}")
    return data


def _known(dialect: str, known: tuple[str, ...]) -> None:
    if dialect not in known:
        raise ValueError(f"there is no dialect {dialect!r}, only {', '.join(map(repr, known))}")


# Which message it is

_Which: TypeAlias = "type[Any] | Callable[[Node], type[Any]]"


def _decode(which: _Which, payload: bytes, dialect: Reading) -> Any:
    if which is v.PscomRequest and dialect == "any":  # words, but for those that are the specification's YAML
        try:
            return _decode(which, payload, "specification")
        except DecodeError:
            return decode_words(v.PscomRequest, payload)
    if isinstance(which, type) and _speaks_words(which, dialect):
        return decode_words(which, payload)
    node = compose(payload)
    try:
        cls = which if isinstance(which, type) else which(node)
        if cls is v.Result:
            return _read_result(node, dialect)
        return cls() if cls in _EMPTY else read_value(cls, node, dialect)
    except Refused as refused:
        raise refused.error() from None


def task_word(node: Node) -> str | None:
    """The `task` of a payload, if it has one that is a text."""
    task = node.entries.get("task") if isinstance(node, MappingNode) else None
    return task.text if isinstance(task, ScalarNode) and not task.is_null else None


def _by_task(channel: Channel) -> Callable[[Node], type[Any]]:
    """A function that finds the class of a message by its `task`."""
    tasks = {route.task: route.message for route in routes_on(channel)}

    def which(node: Node) -> type[Any]:
        word = task_word(node)
        if word is None:
            raise Refused(NO_TASK, node)
        if word not in tasks:
            raise Refused(f"{UNKNOWN_TASK} as {shown(word)}", node).below(".task")
        return tasks[word]

    return which


def _agent_status(node: Node) -> type[Any]:
    """The class of a message from an agent: a start has the key of fast-lib, which ignores `task`."""
    if isinstance(node, MappingNode) and "hostname" not in node.entries:
        return {"configuration": v.Configuration, "KPI": v.KPI}.get(task_word(node) or "", v.Init)
    return v.Init


def _agent_task(node: Node) -> type[Any]:
    """The class of a message to an agent: fast-lib reads the keys, and ignores `task`."""
    if isinstance(node, MappingNode):
        for key, cls in (("job-description", v.StopMonitoring), ("KPI", v.InitAgent)):
            if key in node.entries:
                return cls
    return _AGENT_TASKS(node)


_AGENT_TASKS: Final = _by_task(Channel.AGENT_TASK)
_DISPATCH: Final[Mapping[Channel, _Which]] = {
    **{route.channel: route.message for route in ROUTES},
    Channel.MIGFRA_TASK: _by_task(Channel.MIGFRA_TASK),
    Channel.AGENT_STATUS: _agent_status,
    Channel.AGENT_TASK: _agent_task,
}
_EMPTY: Final = (v.MmbwmonStopAck, v.MmbwmonRestartAck)
"""The messages without keys, for which any YAML is valid."""


# Results, whose shape depends on their content


def _read_result(node: Node, dialect: Reading) -> v.Result:
    entries = node.entries if isinstance(node, MappingNode) else {}
    title = entries.get("result")
    text = title.text if isinstance(title, ScalarNode) else ""
    flat = text in _FLAT[dialect] if dialect != "any" else _is_flat(text, entries)
    if isinstance(node, MappingNode) and flat:
        alone = MappingNode(node.line, node.column)
        alone.entries = {**entries, "list": SequenceNode(node.line, node.column)}
        result: v.Result = read_value(v.Result, alone, dialect)
        return replace(result, list=(read_value(v.VMResult, node, dialect),))
    found: v.Result = read_value(v.Result, node, dialect)
    return found


def _is_flat(title: str, entries: Mapping[str, Node]) -> bool:
    return title in _FLAT["fastlib"] or (title in _FLAT["specification"] and "list" not in entries)


def _tree(message: Any, dialect: Dialect) -> dict[str, Tree]:
    if not isinstance(message, v.FastMessage | v.Part):
        raise EncodeError(f"expected a message, got {shown(message)}")
    tree = write_value(message, type(message), dialect)
    if isinstance(message, v.Result) and message.result in _FLAT[dialect]:
        entries = tree["list"]
        if not isinstance(entries, list) or len(entries) != 1:
            raise EncodeError(f"expected one entry, as {message.result!r} is the result for one machine", "list")
        before = dict(takewhile(lambda item: item[0] != "list", tree.items()))
        return {**before, **entries[0], **{key: each for key, each in tree.items() if key != "list"}}
    return tree


# Payloads that are not YAML


def _speaks_words(cls: type[Any], dialect: Reading) -> bool:
    """Whether a message of this class is bare words. The requests to pscom are YAML in the specification only."""
    return cls is v.PscomResponse or (cls is v.PscomRequest and dialect == "fastlib")
