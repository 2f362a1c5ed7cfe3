"""Libraries of data frames, timed on one table: which of them is fast on this machine."""
