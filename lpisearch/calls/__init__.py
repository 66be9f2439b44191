"""What calls of a library mean, whatever its kind: one here, in shards, or served."""
