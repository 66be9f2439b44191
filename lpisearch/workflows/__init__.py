"""The routes through the rooms: each command is one workflow."""
