"""Tests, and the plain-Python referee that the kernels are held against."""
