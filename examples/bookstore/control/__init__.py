"""Starts and stops the shop's processes, and breaks them. Standard library only."""
