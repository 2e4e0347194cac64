"""The classes that flatc makes of the schema: the low-level API."""
