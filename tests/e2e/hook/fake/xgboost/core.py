# SPDX-License-Identifier: MIT
class Booster:
    rounds = 0

    def update(self, data, iteration, objective=None):
        if objective:
            return self.boost(data, iteration)
        self.rounds += 1

    def boost(self, data, iteration):
        if data is None:
            raise ValueError('no data')
        self.rounds += 1
