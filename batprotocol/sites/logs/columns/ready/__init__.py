"""The mappings of published logs. Their readers are in the table of formats.

The names of columns are those that the documentation of each log has. The files `NAME.toml` can be the beginning of a
mapping for another log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol.sites.logs.columns.mapping import Mapping, mapping_of
from batprotocol.sites.logs.columns.reading import read_by
from batprotocol.sites.logs.formats import Reader
from batprotocol.sites.logs.jobs import LoggedJob

__all__ = ["READY", "ready_mapping"]

READY: Final = ("pm100", "fugaku", "philly", "helios", "alibaba-2020", "alibaba-2023", "cigri", "opendc")
"""The names of the formats."""


@cache
def ready_mapping(name: str) -> Mapping:
    """The mapping of a published log.

    >>> ready_mapping("helios").columns("gres")["gpu"].column
    'gpu_num'
    """
    return mapping_of(files(__package__).joinpath(f"{name}.toml").read_bytes(), name)


def _reader(name: str) -> Reader:
    def read(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
        return read_by(ready_mapping(name), path, left_out, zone=zone)

    return read


read_pm100: Final = _reader("pm100")
read_fugaku: Final = _reader("fugaku")
read_philly: Final = _reader("philly")
read_helios: Final = _reader("helios")
read_alibaba_2020: Final = _reader("alibaba-2020")
read_alibaba_2023: Final = _reader("alibaba-2023")
read_cigri: Final = _reader("cigri")
read_opendc: Final = _reader("opendc")
