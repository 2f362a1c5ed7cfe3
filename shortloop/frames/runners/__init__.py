"""Each library doing the work its own way, one module each. They run in a process of their own."""
