"""Pipelines, requests, lookup of finished jobs, and plans."""
