"""Pure functions: vectors, labels, runs and judgements in, numbers out."""
