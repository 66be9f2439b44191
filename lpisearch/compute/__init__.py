"""Arithmetic that several rooms share: work spread over threads, rows brought to unit length."""
