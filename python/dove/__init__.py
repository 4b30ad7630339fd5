"""What a job may say to Dovetail and ask of it: how far it is (progress), and its saved work (checkpoint).

Standard library only. Outside of a job everything works and is told to nobody.
"""
from dove import checkpoint, progress

__all__ = ["checkpoint", "progress"]
