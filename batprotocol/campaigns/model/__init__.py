"""The values of campaigns, with the specification's names: plain, immutable, comparable.

They do not depend on the entities. All of them are based on `record` and `words`:

- `campaigns`: campaigns and tasks;
- `clusters`: clusters, their free resources, and the jobs that they report;
- `jobs`: a task on a cluster;
- `events`: failures;
- `forecasts` and `rates`: the forecasts, and the rates of the regulators;
- `decisions`: the decisions of a cycle;
- `grid`: the input of a cycle;
- `settings`: the settings of the grid.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.campaigns.model.campaigns import *
from batprotocol.campaigns.model.campaigns import __all__ as _campaigns
from batprotocol.campaigns.model.clusters import *
from batprotocol.campaigns.model.clusters import __all__ as _clusters
from batprotocol.campaigns.model.decisions import *
from batprotocol.campaigns.model.decisions import __all__ as _decisions
from batprotocol.campaigns.model.events import *
from batprotocol.campaigns.model.events import __all__ as _events
from batprotocol.campaigns.model.forecasts import *
from batprotocol.campaigns.model.forecasts import __all__ as _forecasts
from batprotocol.campaigns.model.grid import *
from batprotocol.campaigns.model.grid import __all__ as _grid
from batprotocol.campaigns.model.jobs import *
from batprotocol.campaigns.model.jobs import __all__ as _jobs
from batprotocol.campaigns.model.rates import *
from batprotocol.campaigns.model.rates import __all__ as _rates
from batprotocol.campaigns.model.record import *
from batprotocol.campaigns.model.record import __all__ as _record
from batprotocol.campaigns.model.settings import *
from batprotocol.campaigns.model.settings import __all__ as _settings
from batprotocol.campaigns.model.words import *
from batprotocol.campaigns.model.words import __all__ as _words

__all__ = [
    *_campaigns,
    *_clusters,
    *_decisions,
    *_events,
    *_forecasts,
    *_grid,
    *_jobs,
    *_rates,
    *_record,
    *_settings,
    *_words,
]

__getattr__ = old_names(__name__, {"said_of_exit": "exit_text"})
