"""Progress: the work of a job's profile on hosts and links, part by part, and its progress."""
