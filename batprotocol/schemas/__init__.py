"""Schemas of other ages: earlier versions of the protocol, or versions of other projects.

The schema has changed, but its version number is still 0.1.0, and flatbuffers does not detect that two sides use
different schemas. This package reads any schema (`read_schema`), reads and writes its messages (`Codec`), compares two
schemas (`differences`), finds the age of a message (`Fitting`), and makes a `dissector` for Wireshark.
`batprotocol.legacy` translates conversations between ages.

`reading` finds schemas, with the descriptions of the known ages (`describing`). `codec` uses the careful readers of
`wire`, and adds `writing`. `differences` compares structs by `structs`; `reports` writes its findings for other
programs, with their lines (`places`). `dissecting` makes the dissectors, and `fitting` compares messages with schemas.
The rest of the library does not use this package.
"""

from __future__ import annotations

from batprotocol.schemas.codec import Codec, Record, rounded
from batprotocol.schemas.describing import applied, described
from batprotocol.schemas.differences import Difference, Effect, Verdict, differences, worst
from batprotocol.schemas.dissecting import dissector
from batprotocol.schemas.fitting import Fitting, Verdicts, misfit, other_ages
from batprotocol.schemas.reading import AGES, TODAY, age, ages, read_schema
from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union

__all__ = [
    "AGES",
    "TODAY",
    "Codec",
    "Difference",
    "Effect",
    "Enum",
    "Field",
    "Fitting",
    "Record",
    "Schema",
    "Table",
    "Type",
    "Union",
    "Verdict",
    "Verdicts",
    "age",
    "ages",
    "applied",
    "described",
    "differences",
    "dissector",
    "misfit",
    "other_ages",
    "read_schema",
    "rounded",
    "worst",
]
