# SPDX-License-Identifier: MIT
graphs = []


class Graph:
    def __init__(self, name):
        self.name, self.operations = name, []


def get_default_graph():
    return graphs[-1]
