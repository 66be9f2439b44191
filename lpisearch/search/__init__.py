"""Search: parse, rank, fuse and explain."""
