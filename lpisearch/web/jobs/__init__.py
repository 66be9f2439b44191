"""Work that takes longer than an answer may: ingests, indexes, evaluations, one after the other."""
