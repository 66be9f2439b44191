"""Score documents for a query, and explain the scores."""
