"""What every request passes, in this order: headers of the answer, host, token, writes."""
