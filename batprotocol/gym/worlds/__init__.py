"""Who waits, who runs, and what happens next: `world` is what all have in common; in `direct`, jobs only take time, and
in `simulated`, the embedded Batsim says what happens."""

__all__: list[str] = []
