"""Looking at recordings before a run: what is in a folder, a study file for it, and what is wrong with it."""
