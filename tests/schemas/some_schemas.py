"""Schemas of all kinds, made from seeds, as flatc reads them: namespaces, structs, unions, enums, nested messages."""

from __future__ import annotations

from random import Random
from typing import Final

__all__ = ["some_schema"]

INTEGERS: Final = {
    "byte": (-(2**7), 2**7 - 1), "ubyte": (0, 2**8 - 1), "short": (-(2**15), 2**15 - 1), "ushort": (0, 2**16 - 1),
    "int": (-(2**31), 2**31 - 1), "uint": (0, 2**32 - 1), "long": (-(2**63), 2**63 - 1), "ulong": (0, 2**64 - 1),
}  # fmt: skip
SCALARS: Final = (*INTEGERS, "float", "double", "bool")


def some_schema(seed: int) -> str:
    """The text of a schema: the same for the same seed."""
    return _Making(Random(seed)).text()


class _Making:
    """The schema so far: the names of its parts, and its lines."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.lines: list[str] = []
        self.structs: list[str] = []
        self.enums: dict[str, list[str]] = {}
        self.unions: list[str] = []
        self.tables: list[str] = []

    def text(self) -> str:
        chance = self.chance
        if chance.random() < 0.5:
            self.lines.append("namespace first.space;")
        for number in range(chance.randint(0, 2)):
            self.enum(f"Kind{number}")
        for number in range(chance.randint(0, 2)):
            self.struct(f"Point{number}")
        self.table("Leaf", 0)
        self.table("Twig", 1)
        if chance.random() < 0.3:
            self.tables = [self.far(name) for name in self.tables]
            self.structs = [self.far(name) for name in self.structs]
            self.enums = {self.far(name): members for name, members in self.enums.items()}
            self.lines.append("namespace second;")
            self.table("Other", 1)
            self.tables[-1] = "second.Other"
            self.lines.append("namespace third;")
        if chance.random() < 0.6:
            members = [*self.tables]
            if chance.random() < 0.5:
                members.append(f"alias: {self.tables[0]}")
            self.lines.append(f"union Choice {{ {', '.join(members)} }}")
            self.unions.append("Choice")
        self.table("Root", chance.randint(2, 9))
        self.lines.append("root_type Root;")
        if chance.random() < 0.3:
            self.lines.append('file_identifier "SOME";')
        return "\n".join([*self.lines, ""])

    def far(self, name: str) -> str:
        return name if "." in name or self.lines[0] != "namespace first.space;" else f"first.space.{name}"

    def enum(self, name: str) -> None:
        chance, kind = self.chance, self.chance.choice(["byte", "ubyte", "short", "int", "uint", "long", "ulong"])
        least, most = INTEGERS[kind]
        if kind[0] == "u" and chance.random() < 0.4:
            top = most.bit_length() - 1
            bits = sorted({0, 1, chance.randint(2, top), top})
            members = [f"Bit{bit}" for bit in bits]
            self.lines.append(
                f"enum {name} : {kind} (bit_flags) {{ {', '.join(f'Bit{bit} = {bit}' for bit in bits)} }}"
            )
        else:
            numbers = sorted({0, 1, chance.randint(least, most), most - 1})
            members = [f"{name}{index}" for index in range(len(numbers))]
            pairs = ", ".join(f"{member} = {number}" for member, number in zip(members, numbers, strict=True))
            self.lines.append(f"enum {name} : {kind} {{ {pairs} }}")
        self.enums[name] = members

    def struct(self, name: str) -> None:
        chance = self.chance
        fields = []
        for number in range(chance.randint(1, 4)):
            kind = chance.choice([*SCALARS, *self.structs, *self.enums])
            if chance.random() < 0.3:
                kind = f"[{kind}:{chance.randint(1, 3)}]"
            fields.append(f"f{number}: {kind};")
        align = " (force_align: 16)" if chance.random() < 0.2 else ""
        self.lines.append(f"struct {name}{align} {{ {' '.join(fields)} }}")
        self.structs.append(name)

    def table(self, name: str, count: int) -> None:
        fields = [self.field(f"f{number}") for number in range(count)]
        if name == "Leaf":
            fields = ["id: int (key);", "text: string;"]
        self.lines.append(f"table {name} {{ {' '.join(fields)} }}")
        self.tables.append(name)

    def field(self, name: str) -> str:
        chance = self.chance
        how = chance.random()
        if how < 0.45:
            return f"{name}: {self.scalar()};"
        if how < 0.5 and name != "f0":
            return f"{name}: int (deprecated);"
        if how < 0.56 and self.tables:
            return f'{name}: [ubyte] (nested_flatbuffer: "{chance.choice(self.tables)}");'
        if how < 0.6:
            return f"{name}: [ubyte] (flexbuffer);"
        if how < 0.68 and self.unions:
            return f"{name}: {chance.choice(self.unions)};"
        element = chance.choice([*SCALARS, "string", "string", *self.structs, *self.enums, *self.tables])
        if chance.random() < 0.5 or element in SCALARS or element in self.enums:
            element = f"[{element}]"
        return f"{name}: {element}{' (required)' if chance.random() < 0.15 else ''};"

    def scalar(self) -> str:
        chance = self.chance
        kind = chance.choice([*SCALARS, *self.enums])
        how = chance.random()
        if kind in self.enums:
            if how < 0.2:
                return f"{kind} = null"
            return kind if how < 0.5 else f"{kind} = {chance.choice(self.enums[kind])}"
        if how < 0.2:
            return f"{kind} = null"
        if how < 0.6:
            return kind
        if kind == "bool":
            return "bool = true"
        if kind in INTEGERS:
            least, most = INTEGERS[kind]
            return f"{kind} = {chance.choice([least, most, chance.randint(least, most), 1])}"
        return f"{kind} = {chance.choice(['1.5', '-0.25', '1e3'])}"
