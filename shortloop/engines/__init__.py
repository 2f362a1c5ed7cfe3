"""How many independent calls run."""
