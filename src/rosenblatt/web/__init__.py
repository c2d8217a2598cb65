"""Shared by the pages of the lab and of the service: layout, theme, charts, and guards of requests."""
