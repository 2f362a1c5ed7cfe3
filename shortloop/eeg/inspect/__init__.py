"""Proposals of studies for folders of recordings, and the problems of their recordings before a run."""
