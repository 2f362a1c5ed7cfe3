"""Execute plans: executor, scheduler, progress, and the record of runs."""
