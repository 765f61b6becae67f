"""The commands of `dartmoor`, one module each. Modules import what is slow inside their functions: help stays quick."""
