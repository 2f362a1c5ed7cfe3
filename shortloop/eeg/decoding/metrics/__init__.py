"""How good predictions and decisions are."""
