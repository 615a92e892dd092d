# SPDX-License-Identifier: MIT
"""A small training on a real DataLoader that times its own waits and prints them as JSON."""
import argparse
import json
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Squares(Dataset):
    def __init__(self, samples, seconds):
        self.samples, self.seconds = samples, seconds

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        spin(self.seconds)
        return torch.full((16,), float(index))


class Stream(IterableDataset):
    def __init__(self, samples, seconds):
        self.samples, self.seconds = samples, seconds

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for index in range(first, self.samples, step):
            spin(self.seconds)
            yield torch.full((16,), float(index))


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--workers', type=int, default=0)
    parser.add_argument('--method', default=None)
    parser.add_argument('--kind', choices=['map', 'iterable'], default='map')
    parser.add_argument('--samples', type=int, default=64)
    parser.add_argument('--batch', type=int, default=4)
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--sample-seconds', type=float, default=0.0005)
    parser.add_argument('--persistent', action='store_true')
    parser.add_argument('--stateful', action='store_true')
    parser.add_argument('--out-of-order', action='store_true')
    parser.add_argument('--seed-each-epoch', action='store_true')
    args = parser.parse_args()
    more = {'in_order': False} if args.out_of_order else {}
    dataset = (Squares if args.kind == 'map' else Stream)(args.samples, args.sample_seconds)
    if args.stateful:
        from torchdata.stateful_dataloader import StatefulDataLoader as Loader
    else:
        Loader = DataLoader
    loader = Loader(dataset, batch_size=args.batch, num_workers=args.workers,
                    multiprocessing_context=args.method if args.workers else None,
                    persistent_workers=args.persistent, shuffle=args.kind == 'map', **more)
    model = torch.nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    waits, total = [], 0.0
    for _ in range(args.epochs):
        if args.seed_each_epoch:
            torch.manual_seed(7)
        iterator = iter(loader)
        while True:
            begin = time.monotonic_ns()
            batch = next(iterator, None)
            if batch is None:
                break
            waits.append(time.monotonic_ns() - begin)
            total += float(batch.sum())
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
    json.dump({'waits': waits, 'total': total, 'torch': torch.__version__, 'batches': len(waits), 'steps': len(waits)},
              sys.stdout)


if __name__ == '__main__':
    main()
