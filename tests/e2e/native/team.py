# SPDX-License-Identifier: MIT
"""team.py LIBRARY SECONDS: has the team of team.c work, from a function of its own."""
import ctypes
import sys


def forward(library, seconds):
    return library.team(ctypes.c_double(seconds), 1, 1)


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.team.restype = ctypes.c_double
    forward(library, float(sys.argv[2]))


main()
