"""Epochs to features: time bins × trials × features."""
