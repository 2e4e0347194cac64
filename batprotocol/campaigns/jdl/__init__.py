"""Campaigns out of texts."""
