"""A cluster whose resource manager is OAR: campaigns speak OAR's REST API with the requests that CiGri 3 makes.

`description` is the file that describes the cluster, `http` makes bounded requests, `requests` has their paths and
JSON, `answers` reads the answers, `known` is the file with the jobs that the cluster has, and `manager` is the resource
manager. `requests` and `answers` must not know of sockets or files.
"""

from batprotocol.campaigns.managers.oar.description import Description, read_description
from batprotocol.campaigns.managers.oar.manager import OarCluster

__all__ = ["Description", "OarCluster", "read_description"]
