"""How fast libraries of data frames are on this machine, and whether they come to the right numbers."""
