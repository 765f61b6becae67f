"""Experiments: who plays whom, what is counted, and how it is reported; also the command line."""
