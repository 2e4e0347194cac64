"""For a Batsim of version 1 to 4: what is remembered, told of it and wanted; `translation` puts it together."""
