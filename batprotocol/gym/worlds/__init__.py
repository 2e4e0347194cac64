"""The waiting and running jobs of an episode, and its next events. `world` has the base class. In `direct`, jobs only
take time. In `simulated`, the embedded Batsim simulates the jobs."""

__all__: list[str] = []
