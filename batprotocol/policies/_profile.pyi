from batprotocol.policies.availability import PythonProfile, python_change_steps
from batprotocol.policies.backfilling import PythonReservedJobs
from batprotocol.policies.site.futures import python_change_amounts, python_first_time, python_leasts
from batprotocol.policies.site.state import PythonOpenHosts
from batprotocol.policies.site.watts import python_change_jobs, python_closed_times, python_pieces

class OpenHosts(PythonOpenHosts): ...
class Profile(PythonProfile): ...
class ReservedJobs(PythonReservedJobs): ...

change_amounts = python_change_amounts
change_jobs = python_change_jobs
change_steps = python_change_steps
closed_times = python_closed_times
first_time = python_first_time
leasts = python_leasts
pieces = python_pieces
