"""Inference beyond coefficients: hypotheses, marginal effects, the wild cluster bootstrap."""
