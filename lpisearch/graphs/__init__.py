"""Document graphs: affinities between documents (rows of X)."""
