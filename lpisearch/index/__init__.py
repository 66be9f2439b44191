"""Subspace indexes: build, publish, open and update."""
