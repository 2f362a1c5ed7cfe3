"""Maintain stored jobs: list, verify and delete them."""
