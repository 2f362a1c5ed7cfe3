"""What a job is known by: its code, its options and the content of what it is made from."""
