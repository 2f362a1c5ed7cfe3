"""Why a job is built: what differs from the job before."""
