"""Fits of one model in every group, or in windows of its rows."""
