"""Sweeps: run one build script over a grid of settings and compare the results."""
