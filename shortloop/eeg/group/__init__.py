"""Maps of all participants to statistics."""
