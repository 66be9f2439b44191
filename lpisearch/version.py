"""The version of the program, where every room can know it."""

VERSION = "0.2.0"
