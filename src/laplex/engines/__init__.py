"""Ways to maximise the log posterior of a Problem: the reference in NumPy, the CPU engine in Numba."""
