"""What exax lacks: honest keys, readable results, server care, progress."""
