"""The routes of `lpisearch evaluate`: documents and labels in, reports out."""
