"""Background jobs: ingest, index and evaluate, one at a time."""
