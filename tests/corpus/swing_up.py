# SPDX-License-Identifier: MIT
"""A policy of PyTorch that learns to swing up pendulums: environments of NumPy, stepped one by one."""
import numpy
import torch
from torch.distributions import Categorical

from corpus import OwnClock, SECONDS, has, level
from corpus_torch import learn_from, perceptron

CAUSES = {"env": ("transform compute", ["transform.in_process", "transform.slow_op", "compute.python_overhead"])}
COPIES, HORIZON, FRAMES = 8, 6, level(1, 8, 75)


class Pendulum:
    """A pendulum of `shape` () or many at once, that is pushed left, not at all, or right."""

    def __init__(self, shape=(), seed=0):
        self.random = numpy.random.default_rng(seed)
        self.angle, self.speed = self.random.uniform(-3, 3, shape), numpy.zeros(shape)

    def observe(self):
        return numpy.stack([numpy.cos(self.angle), numpy.sin(self.angle), self.speed], -1).astype("f4")

    def step(self, action):
        reward = 0.0
        for _ in range(FRAMES):
            self.speed = numpy.clip(self.speed + 0.01 * (15 * numpy.sin(self.angle) + 6 * (action - 1)), -8, 8)
            self.angle = (self.angle + 0.01 * self.speed + numpy.pi) % (2 * numpy.pi) - numpy.pi
            reward = reward - self.angle ** 2 - 0.1 * self.speed ** 2
        return self.observe(), reward / FRAMES


class Agent:
    def __init__(self):
        self.policy = perceptron(3, 256, 3)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), 1e-3)

    def update(self, log_probabilities, rewards):
        returns = torch.tensor(numpy.array(rewards), dtype=torch.float32).flip(0).cumsum(0).flip(0)
        learn_from(-(torch.stack(log_probabilities) * (returns - returns.mean())).mean(), self.optimizer)

    def learn(self, step_all, observations, clock):
        for _ in clock.steps(SECONDS):
            log_probabilities, rewards = [], []
            for _ in range(HORIZON):
                choice = Categorical(logits=self.policy(torch.from_numpy(observations)))
                actions = choice.sample()
                log_probabilities.append(choice.log_prob(actions))
                with clock.during("data"):
                    observations, reward = step_all(actions.numpy())
                rewards.append(reward)
            self.update(log_probabilities, rewards)
        clock.print()


def main():
    copies, together = [Pendulum(seed=seed) for seed in range(COPIES)], Pendulum((COPIES,))

    def one_by_one(actions):
        results = [copy.step(action) for copy, action in zip(copies, actions)]
        return numpy.stack([seen for seen, _ in results]), numpy.array([reward for _, reward in results])

    Agent().learn(one_by_one if has("env") else together.step, together.observe(), OwnClock())


if __name__ == "__main__":
    main()
