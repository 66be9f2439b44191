"""Library status and maintenance."""
