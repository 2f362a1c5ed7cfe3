"""Looking after the jobs that are kept: what there is, whether it is whole, and what nobody needs."""
