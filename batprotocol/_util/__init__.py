"""Utilities that many packages share, and no user needs: times, files, tables, processes, sockets. Private."""
