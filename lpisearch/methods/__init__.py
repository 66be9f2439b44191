"""Linear maps from term space to a subspace, one module per algorithm."""
