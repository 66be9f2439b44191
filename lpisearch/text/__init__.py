"""Text to tokens, tokens to a vocabulary, and counts to a weighted sparse matrix."""
