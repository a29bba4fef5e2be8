"""Arrays only: quaternions, springs, filters. Imports NumPy, SciPy and Numba and nothing of ambulo's but its errors."""
