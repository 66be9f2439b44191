"""Resumable experiments that compare methods on a collection."""
