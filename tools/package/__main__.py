# SPDX-License-Identifier: MIT
"""python -m stallprof: the program that this wheel has put beside this Python."""
import os
import sys
from importlib.metadata import files


def program():
    for file in files("stallprof") or ():
        if file.name == "stallprof" and file.parent.name in ("bin", "Scripts"):
            return str(file.locate().resolve())
    sys.exit("stallprof: the program is missing from this installation")


if __name__ == "__main__":
    path = program()
    os.execv(path, [path] + sys.argv[1:])
