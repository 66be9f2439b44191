"""Questions to hits: parse, rank, fuse, and show why."""
