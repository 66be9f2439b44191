"""Subspace indexes: learned, published, opened, brought up to date."""
