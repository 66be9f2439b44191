"""The face for assistants: tools over libraries, by the Model Context Protocol."""
