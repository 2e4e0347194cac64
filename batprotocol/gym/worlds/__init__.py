"""The waiting and running jobs of an episode, and its next events. `world` has the base class. In `direct`, jobs only
take time. In `simulated`, the embedded Batsim simulates the jobs, in `shared` with shared hosts, and in `failing` with
hosts that fail."""

__all__: list[str] = []
