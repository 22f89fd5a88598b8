"""The processes of the shop."""
