"""Who is a neighbour of whom: affinity graphs over documents."""
