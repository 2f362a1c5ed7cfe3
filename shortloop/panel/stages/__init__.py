"""Stages of a panel's pipeline: what a job computes, as glue between files and functions."""
