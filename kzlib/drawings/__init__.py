"""The pictures: pure functions from a tidy frame to a figure, and from the same frame to its alt text."""
