"""XML of platform files: elements and attributes, read with expat in chunks, each checked against the table `ELEMENTS`.

A file may name a document type. But definitions in it, such as entities, are refused, so that a short file cannot
expand to a large one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, NamedTuple
from xml.parsers import expat

from batprotocol.errors import InputError, shown

# The supported elements; all others are refused by name


class ElementKind(NamedTuple):
    """The definition of an element.

    Args:
        parents: the elements that it may be in.
        required: the attributes that it must have.
        optional: the attributes that it may have, with their defaults.
        order: the order of the elements in it, as an automaton: for each state, from "", the elements that can come
            next, with the state that each leads to. Empty: any order.
    """

    parents: tuple[str, ...]
    required: tuple[str, ...] = ()
    optional: Mapping[str, str] = {}
    order: Mapping[str, Mapping[str, str]] = {}


_NO_PROFILES = {"speed_file": "", "availability_file": "", "state_file": ""}

_ZONES: Final = dict.fromkeys(("zone", "cluster"), "zones")
_ZONE_ROUTES: Final = dict.fromkeys(("zoneRoute", "bypassZoneRoute"), "routes between zones")
_LINKS: Final = ("link", "backbone")
_HOSTS: Final = dict.fromkeys(("host", "router", "cabinet", "host_link", *_LINKS), "hosts")
_ROUTES: Final = dict.fromkeys(("route", "bypassRoute"), "routes")

_IN_PLATFORM: Final[Mapping[str, Mapping[str, str]]] = {
    "": {"config": "", **_ZONES},
    "zones": _ZONES,
}
_IN_ZONE: Final[Mapping[str, Mapping[str, str]]] = {
    "": {"prop": "", **_ZONES, **_ZONE_ROUTES, **_HOSTS, **_ROUTES},
    "zones": {**_ZONES, **dict.fromkeys(_LINKS, "zones"), **_ZONE_ROUTES},
    "routes between zones": _ZONE_ROUTES,
    "hosts": {**_HOSTS, **_ROUTES},
    "routes": _ROUTES,
}
"""The order of SimGrid's document type: properties first, routes last. A zone that begins with a link has no zones."""

SYNONYMS: Final = {"AS": "zone", "ASroute": "zoneRoute", "bypassASroute": "bypassZoneRoute"}
"""Old names of elements."""

ELEMENTS: Final[Mapping[str, ElementKind]] = {
    "platform": ElementKind((), ("version",), {}, _IN_PLATFORM),
    "config": ElementKind(("platform",), (), {"id": ""}),
    "zone": ElementKind(("platform", "zone"), ("id", "routing"), {}, _IN_ZONE),
    "cluster": ElementKind(
        ("platform", "zone"),
        ("id", "prefix", "suffix", "radical", "speed", "bw", "lat"),
        {
            "core": "1",
            "sharing_policy": "SPLITDUPLEX",
            "topology": "FLAT",
            "topo_parameters": "",
            "bb_bw": "",
            "bb_lat": "0s",
            "bb_sharing_policy": "SHARED",
            "router_id": "",
            "limiter_link": "",
            "loopback_bw": "",
            "loopback_lat": "",
        },
    ),
    "cabinet": ElementKind(("zone",), ("id", "prefix", "suffix", "radical", "speed", "bw", "lat")),
    "host": ElementKind(("zone",), ("id", "speed"), {"core": "1", "pstate": "0", "coordinates": "", **_NO_PROFILES}),
    "disk": ElementKind(("host",), ("read_bw", "write_bw"), {"id": "/"}),
    "router": ElementKind(("zone",), ("id",), {"coordinates": ""}),
    "host_link": ElementKind(("zone",), ("id", "up", "down")),
    "link": ElementKind(
        ("zone",),
        ("id", "bandwidth"),
        {"latency": "0", "sharing_policy": "SHARED", "bandwidth_file": "", "latency_file": "", "state_file": ""},
    ),
    "backbone": ElementKind(("zone",), ("id", "bandwidth", "latency")),
    "route": ElementKind(("zone",), ("src", "dst"), {"symmetrical": "YES"}),
    "zoneRoute": ElementKind(("zone",), ("src", "dst", "gw_src", "gw_dst"), {"symmetrical": "YES"}),
    "bypassRoute": ElementKind(("zone",), ("src", "dst")),
    "bypassZoneRoute": ElementKind(("zone",), ("src", "dst", "gw_src", "gw_dst")),
    "link_ctn": ElementKind(("route", "zoneRoute", "bypassRoute", "bypassZoneRoute"), ("id",), {"direction": "NONE"}),
    "prop": ElementKind(("config", "zone", "cluster", "host", "disk", "link"), ("id", "value")),
}


_CHUNK = 1 << 16
_DEEPEST = 64


class Element:
    """An element: its tag, its attributes with their defaults, its properties, and its line.

    Args:
        tag: its name.
        attributes: its attributes, with the defaults of those that are absent.
        line: the line where it begins, counted from 1.
        parent: the element around it, or None.

    Attributes:
        state: where it is in the order of its kind.
    """

    __slots__ = ("attributes", "children", "line", "parent", "properties", "state", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, parent: Element | None) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.parent = parent
        self.properties: dict[str, str] = {}
        self.children: list[Element] = []
        self.state = ""

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    @property
    def place(self) -> str:
        """Its name in error messages: `host n1`, `route n1 -> n2`."""
        if "src" in self.attributes:
            return f"{self.tag} {self['src']} -> {self['dst']}"
        return f"{self.tag} {self.attributes.get('id', '')}".rstrip()


class _ElementFault(Exception):
    """A fault in a callback of expat: reason, line, column."""


def read_elements(
    stream: BinaryIO,
    kinds: Mapping[str, ElementKind],
    synonyms: Mapping[str, str],
    *,
    begin: Callable[[Element], None],
    end: Callable[[Element], None],
    filename: str = "",
) -> None:
    """Read a whole file, and call `begin` and `end` with each element that is not a property of another one.

    Raises:
        InputError: the file is not XML, or has content that `kinds` does not define.
    """
    parser = expat.ParserCreate()
    reader = _ElementReader(parser, kinds, synonyms, begin, end)
    try:
        chunk = stream.read(_CHUNK)
        while chunk and not chunk.strip():
            reader.skipped_lines += chunk.count(b"\n")
            chunk = stream.read(_CHUNK)
        begun = chunk.lstrip()  # SimGrid does not mind space before the declaration, as XML does
        reader.skipped_lines += chunk[: len(chunk) - len(begun)].count(b"\n")
        parser.Parse(begun, False)
        while chunk := stream.read(_CHUNK):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except _ElementFault as fault:
        reason, line, column = fault.args
        raise InputError(reason, file=filename, line=line, column=column) from None
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, "malformed")
        raise InputError(
            f"this is not well-formed XML: {reason}",
            file=filename,
            line=error.lineno + reader.skipped_lines,
            column=error.offset + 1,
        ) from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not know
        if isinstance(error, InputError):  # of a callback
            raise
        raise InputError(f"this XML cannot be read: {error}", file=filename) from None
    if reader.top is not None:
        raise InputError("the file ends inside an element", file=filename)


class _ElementReader:
    def __init__(
        self,
        parser: expat.XMLParserType,
        kinds: Mapping[str, ElementKind],
        synonyms: Mapping[str, str],
        begin: Callable[[Element], None],
        end: Callable[[Element], None],
    ) -> None:
        self.parser = parser
        self.kinds = kinds
        self.synonyms = synonyms
        self.begin = begin
        self.end = end
        self.top: Element | None = None
        self.depth = 0
        self.skipped_lines = 0
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped
        parser.buffer_text = True

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber + self.skipped_lines

    def fault(self, reason: str) -> _ElementFault:
        """A fault at the place where the parser is now."""
        return _ElementFault(reason, self.line, self.parser.CurrentColumnNumber + 1)

    def _doctype(self, name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
        if has_internal_subset:
            raise self.fault("a document type with definitions (entities, attributes) is not supported; remove them")

    def _entity(self, name: str, *_: Any) -> None:
        raise self.fault(f"the entity {shown(name)} is not supported; write its text instead")

    def _skipped(self, name: str, is_parameter: int) -> None:
        raise self.fault(f"there is no entity {shown(name)}")

    def _text(self, text: str) -> None:
        if text.strip():
            raise self.fault(f"expected elements only, got the text {shown(text.strip())}")

    def _start(self, tag: str, given: dict[str, str]) -> None:
        tag = self.synonyms.get(tag, tag)
        kind = self.kinds.get(tag)
        if kind is None:
            raise self.fault(f"<{_short(tag)}> is not supported")
        parent = self.top
        if (parent.tag if parent is not None else None) not in (kind.parents or (None,)):
            where = f"inside <{parent.tag}>" if parent is not None else "as the outermost element"
            raise self.fault(f"<{tag}> is not allowed {where}")
        if parent is not None and (order := self.kinds[parent.tag].order):
            state = order[parent.state].get(tag)
            if state is None:
                raise self.fault(_misplaced(tag, parent, order))
            parent.state = state
        for name in given:
            if name not in kind.required and name not in kind.optional:
                raise self.fault(f"the attribute {_short(name)} of <{tag}> is not supported")
        for name in kind.required:
            if name not in given:
                raise self.fault(f"<{tag}> needs the attribute {name}")
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fault(f"elements are nested deeper than {_DEEPEST}")
        element = Element(tag, {**kind.optional, **given}, self.line, parent)
        self.top = element
        if tag == "prop":
            assert parent is not None
            parent.properties.setdefault(element["id"], element["value"])
        else:
            self.begin(element)

    def _end(self, tag: str) -> None:
        element = self.top
        assert element is not None
        self.depth -= 1
        self.top = element.parent
        if element.tag != "prop":
            self.end(element)


def _misplaced(tag: str, parent: Element, order: Mapping[str, Mapping[str, str]]) -> str:
    """Why an element cannot stand here: SimGrid demands an order of the elements."""
    before = f"after the {parent.state}" if parent.state else "at the beginning"
    allowed = ", ".join(f"<{name}>" for name in order[parent.state])
    return f"<{tag}> is not allowed {before} in <{parent.tag}>, where SimGrid expects one of {allowed}; move it"


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}..."
