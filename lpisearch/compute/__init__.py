"""Arithmetic that several rooms share: threads, rows at unit length, k-means, agreement."""
