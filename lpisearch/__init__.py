"""Semantic document search and classification on a plain CPU."""

__version__ = "0.1.0"
