"""Measures as pure functions on arrays, labels, runs and judgements."""
