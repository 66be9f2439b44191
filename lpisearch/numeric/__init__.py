"""Shared numerical code: threads, normalised rows, k-means and cluster agreement."""
