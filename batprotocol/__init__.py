"""batprotocol: the protocol between Batsim and the schedulers that it drives, in Python.

>>> from batprotocol import MessageBuilder
>>> builder = MessageBuilder(now=10.0)
>>> builder.add_execute_job("w0!1", "0-3")
>>> message = builder.finish_message(10.0)
>>> decode(message.to_binary()) == message
True

The values (`batprotocol.model`) have the names of the schema. `Message` reads and writes both formats, and `decode`
detects the format. `MessageBuilder` makes replies. `batprotocol.wire` has the rest of the wire. The classes that flatc
makes from the schema are `batprotocol.fb`.

The packages, from the lowest layer to the highest:

- `errors`, and `_util`, which is private;
- the protocol: `model` (values), `wire` (bytes), `builder`, `conversation` (the rules, and advice), `schemas` (other
  versions of the schema);
- `edc` runs a decision component;
- simulations: `workloads` (inputs, and the vocabularies of jobs and hosts), `simulator` (an embedded Batsim), `results`
  (metrics and tables), `policies` (built-in schedulers);
- `recordings` reads conversations that were recorded, `studies` compares many simulations, `gym` has environments for
  learning, and `testing` helps to test;
- `sites`: `sites.logs` reads logs of resource managers, `sites.slurm` has the files of a Slurm site, and a client of a
  real one;
- `legacy` (older protocols, and a bridge), `fast` (FaST's schedulers, nodes and agents over MQTT) and `campaigns`
  (CiGri's metascheduler);
- `cli`, the command.

docs/explanation/architecture.md has a picture of the layers.
"""

import os as _os

# In a source tree, the compiled schema (batprotocol.fb, batprotocol._schema) is beside the package, in generated/.
# In an installed package, it is inside.
if not _os.path.isdir(_os.path.join(__path__[0], "_schema")):
    __path__.append(_os.path.join(_os.path.dirname(__path__[0]), "generated"))

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names as _old_names
from batprotocol._util.moved import find_old_names as _find_old_names
from batprotocol.errors import BuilderError as BuilderError
from batprotocol.errors import DecodeError as DecodeError
from batprotocol.errors import EncodeError as EncodeError
from batprotocol.errors import HostsError as HostsError
from batprotocol.errors import HostSetError as HostSetError
from batprotocol.errors import PeerGone as PeerGone
from batprotocol.errors import PeerSilent as PeerSilent
from batprotocol.errors import ProtocolError as ProtocolError
from batprotocol.errors import RuleViolation as RuleViolation
from batprotocol.errors import SchedulerError as SchedulerError
from batprotocol.model import *
from batprotocol.model.free_hosts import FrozenHosts as FrozenHosts
from batprotocol.model.free_hosts import Hosts as Hosts
from batprotocol.wire import decode as decode

if TYPE_CHECKING:
    from batprotocol.builder import MessageBuilder as MessageBuilder
else:  # type checkers export what is imported with `*`, and mypy cannot read such an `__all__`
    from batprotocol import model as _model

    __all__ = [
        "BuilderError",
        "DecodeError",
        "EncodeError",
        "FrozenHosts",
        "HostSetError",
        "Hosts",
        "HostsError",
        "MessageBuilder",
        "PeerGone",
        "PeerSilent",
        "ProtocolError",
        "RuleViolation",
        "SchedulerError",
        "decode",
        *_model.__all__,
    ]

    # Errors that are not about messages stand with their packages, which version 0.2 did not have.
    __getattr__ = _old_names(
        __name__,
        {
            "CaptureError": "recordings.CaptureError",
            "ClusterError": "campaigns.ClusterError",
            "InputError": "errors.InputError",
            "JdlError": "campaigns.JdlError",
            "PackageMissing": "errors.PackageMissing",
            "StoreAway": "campaigns.StoreAway",
            "StoreError": "campaigns.StoreError",
            "StudyError": "studies.StudyError",
            "TaskFailed": "fast.TaskFailed",
        },
        late={"MessageBuilder": "builder"},  # commands that read messages do not wait for it
    )

    def __dir__():
        return sorted(__all__)


_find_old_names()
