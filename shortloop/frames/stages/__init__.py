"""Stages of this analysis: what a job computes, as glue between files and functions."""
