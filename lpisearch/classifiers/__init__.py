"""Labelled documents to classifiers, and classifiers to shares of labels."""
