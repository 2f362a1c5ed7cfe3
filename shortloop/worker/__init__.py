"""What runs inside a job, and so is part of its key."""
