"""The parts of `tools/bench.py`: the workloads, the competitors, the clock, the tables.

Nothing here is part of the package. Another engine, or another library, is one more entry in `competitors`.
"""
