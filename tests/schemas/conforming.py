"""Changes of a schema, and what flatc --conform and this library say of each."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["CHANGES", "NEWER_FINDS", "OLD", "Change"]

OLD: Final = """\
struct Point { x: float; y: float; }
enum Colour : ubyte { Red, Green, Blue }
table Circle { centre: Point; radius: float; }
table Square { corner: Point; side: float; }
union Shape { Circle, Square }
table Drawing {
  name: string;
  colour: Colour = Green;
  width: int = 1;
  height: int;
  shape: Shape;
  points: [Point];
  inner: [ubyte] (nested_flatbuffer: "Circle");
}
root_type Drawing;
file_identifier "DRAW";
"""


class Change(NamedTuple):
    """A change.

    Attributes:
        old: a text of the schema.
        new: the text in its place.
        is_found: whether flatc --conform finds it.
        place: the part that this library names.
        kind: the kind of the difference.
        verdict: the worst effect on binary messages.
        line: the line of the new schema.
    """

    old: str
    new: str
    is_found: bool
    place: str
    kind: str
    verdict: str
    line: int


CHANGES: Final = {
    "a field moves": Change("  name: string;\n", "", True, "Drawing.colour", "moved", "misread", 7),
    "a field changes its type": Change(
        "width: int = 1", "width: long = 1", True, "Drawing.width", "type", "misread", 9
    ),
    "a default changes": Change("width: int = 1", "width: int = 2", True, "Drawing.width", "default", "misread", 9),
    "members of an enum are exchanged": Change(
        "Green, Blue", "Blue, Green", True, "Colour.Blue", "moved", "misread", 2
    ),
    "a member of an enum is replaced": Change("Red, Green", "Pink, Green", False, "Colour.Pink", "renamed", "fine", 2),
    "a member of a union is replaced": Change(
        "{ Circle, Square }", "{ Circle, Drawing }", False, "Shape.Drawing", "added", "misread", 5
    ),
    "a member of a union is removed": Change(
        "{ Circle, Square }", "{ Circle }", False, "Shape.Square", "removed", "refused", 5
    ),
    "a field becomes required": Change(
        "name: string", "name: string (required)", False, "Drawing.name", "required", "refused", 7
    ),
    "a field is removed at the end": Change(
        '  inner: [ubyte] (nested_flatbuffer: "Circle");\n', "", False, "Drawing.inner", "removed", "absent", 6
    ),
    "a field is replaced by one of its type": Change(
        "height: int", "depth: int", False, "Drawing.depth", "renamed", "fine", 10
    ),
    "a field is deprecated": Change(
        "height: int", "height: int (deprecated)", False, "Drawing.height", "deprecated", "default", 10
    ),
    "a struct grows": Change("y: float; }", "y: float; z: float; }", False, "Point.z", "added", "misread", 1),
    "a struct becomes a table": Change("struct Point", "table Point", True, "Point", "type", "misread", 1),
    "the root changes": Change("root_type Drawing", "root_type Square", False, "Square", "root", "misread", 15),
    "the identifier changes": Change('"DRAW"', '"DRA2"', False, "Drawing", "identifier", "refused", 16),
    "a nested message changes": Change(
        'nested_flatbuffer: "Circle"', 'nested_flatbuffer: "Square"', False, "Drawing.inner", "nested", "misread", 13
    ),
}
"""The changes by name."""

NEWER_FINDS: Final = ("a field is removed at the end",)
"""Changes that flatc 25.12 finds, too."""
