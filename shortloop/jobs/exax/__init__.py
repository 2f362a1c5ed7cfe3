"""The engine of jobs, exax: asking it, caring for its server, and what it lacks."""
