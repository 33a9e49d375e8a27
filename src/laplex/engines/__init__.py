"""Engines that maximize the log posterior: the reference (NumPy), CPU (Numba), Torch, and many processes (ranks)."""
