"""How fast it is: the thesis workload, peers, growth and the distance to the machine's limits."""
