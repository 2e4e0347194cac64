"""Nodes to test schedulers with: they answer as the real programs do, and no machine is started anywhere."""
