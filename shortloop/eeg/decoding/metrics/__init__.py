"""Scores of predictions and decisions."""
