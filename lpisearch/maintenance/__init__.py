"""What a library holds, and what keeps it sound."""
