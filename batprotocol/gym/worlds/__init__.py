"""The waiting and running jobs of an episode, and its next events. `world` has the base class. In `direct`, jobs only
take time. In `simulated`, the embedded Batsim simulates the jobs, in `shared` with shared hosts. `eventful` adds
external events: in `failing`, hosts fail, and in `electric`, the carbon intensity and the price change."""

__all__: list[str] = []
