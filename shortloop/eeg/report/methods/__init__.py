"""A methods section for a paper, from the settings of a study: only what was done, each part a module."""
