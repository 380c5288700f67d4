"""Shared by all tests: PostgreSQL servers, raw clients and servers, and checks against the official models."""
