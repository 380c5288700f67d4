"""The page for people, without a browser."""
