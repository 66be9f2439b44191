"""Files into the library."""
