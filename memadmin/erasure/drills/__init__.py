"""Drills: a made-up person goes through the real workflow, so that nobody learns on a real one that it does not work."""
