# SPDX-License-Identifier: MIT
"""A training whose samples sleep, and which writes, changes and removes files where it can.

With a second argument it does not end by TERM."""
import os
import signal
import socket
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

SHARED = sys.argv[1]    # a directory beside the working directory


class Sleepy(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.full((4,), float(index))


def touch_files(epoch):
    for place in '.', SHARED, '/dev/shm':
        with open(os.path.join(place, 'stallprof-verify-%d.pt' % epoch), 'w') as file:
            file.write('a checkpoint')
    with open('log.txt', 'a') as file:
        file.write('epoch %d\n' % epoch)
    if os.path.exists('old.txt'):
        os.remove('old.txt')
    os.makedirs('runs/%d' % epoch, exist_ok=True)
    if 'LINES_TO' in os.environ:   # a descriptor that the caller opened
        os.write(int(os.environ['LINES_TO']), b'a line\n')


def use_files():
    """What works outside of a view and is to work in it; as an ordinary user the renames do not."""
    service = os.path.join(os.path.dirname(SHARED), 'service')
    if os.path.exists(service):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(service)
    if os.geteuid() == 0 and os.path.isdir('runs'):
        os.rename('runs', os.path.join(SHARED, 'runs.old'))


def main():
    if len(sys.argv) > 2:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    use_files()
    loader = DataLoader(Sleepy(), batch_size=4)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for epoch in range(1000):
        touch_files(epoch)
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
            time.sleep(0.012)


main()
