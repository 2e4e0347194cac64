"""The values of campaigns, in the specification's words: plain, immutable, comparable.

They know nothing of who decides. On `record` and `words` stand `campaigns` (what is to be done, and its tasks),
`clusters` (where, and what is free there), `jobs` (a task on a cluster), `events` (what went wrong), `forecasts` and
`rates` (what is expected, and how fast to go), `decisions` (what is to be done now), `grid` (all that a cycle decides
upon) and `settings` (how).
"""

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
