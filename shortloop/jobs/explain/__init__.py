"""Why a job is or was built: what differs from the job before, in a line for a run, and in full."""
