"""Schemas of other ages: the protocol as it was, or as somebody else has it.

The schema has changed while it went on calling itself 0.1.0, and flatbuffers says nothing when two sides differ. Here
any schema can be read (`read_schema`), its messages read and written (`Codec`), two schemas compared (`differences`),
and the age of a message found (`Fitting`). What becomes of a conversation between ages, `batprotocol.legacy` knows.

`reading` finds schemas, with what `describing` says of the known ages; `codec` stands on the careful readers of `wire`,
to which it adds `writing`. Nothing that the rest of the library does passes through here.
"""

from __future__ import annotations

from batprotocol.reflection import Enum, Field, Schema, Table, Type, Union
from batprotocol.schemas.codec import Codec, Record
from batprotocol.schemas.describing import applied, described
from batprotocol.schemas.differences import Difference, Effect, Verdict, differences, worst
from batprotocol.schemas.fitting import Fitting, Verdicts, misfit, other_ages
from batprotocol.schemas.reading import AGES, TODAY, age, ages, read_schema

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
    "misfit",
    "other_ages",
    "read_schema",
    "worst",
]
