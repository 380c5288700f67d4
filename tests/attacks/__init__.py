"""Attacks that fell once, each as a test of what must hold instead."""
