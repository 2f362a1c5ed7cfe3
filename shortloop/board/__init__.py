"""The page of runs: a local web page of the project's runs, jobs and their results, which only reads."""
