"""Security middleware, in order: headers, host, token, CSRF."""
