"""Plain records passed between packages."""
