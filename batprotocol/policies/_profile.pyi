from collections.abc import Callable

from batprotocol.policies.availability import PythonProfile, python_change_steps
from batprotocol.policies.backfilling import PythonReservedJobs
from batprotocol.policies.site.futures import PythonHostSteps
from batprotocol.policies.site.plan import python_keep
from batprotocol.policies.site.state import PythonOpenHosts
from batprotocol.policies.site.watts import python_change_jobs, python_closed_times, python_pieces

class HostSteps(PythonHostSteps): ...
class OpenHosts(PythonOpenHosts): ...
class Profile(PythonProfile): ...
class ReservedJobs(PythonReservedJobs): ...

change_jobs = python_change_jobs
change_steps = python_change_steps
closed_times = python_closed_times
keep = python_keep
move_amount: Callable[..., int]
pieces = python_pieces
