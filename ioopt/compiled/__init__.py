"""Run kernels: plain Python text, compiled from C where a compiler was found."""
