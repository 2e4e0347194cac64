"""Progress: what a job's profile makes its hosts and links do, step by step, and how far it has come."""
