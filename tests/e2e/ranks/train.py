# SPDX-License-Identifier: MIT
"""Data-parallel training of two ranks on a CPU, by gloo, started as torchrun does. Each rank works
for a set time and writes its own clock to FOLDER/PID.json: {"rank": R, "at": [NS, ...], "comm": [NS,
...]}, when each step began and the last one ended, and what each waited in its collectives.

    train.py FOLDER STEPS own|ddp none|slow|turns

own: gradients are averaged by an all_reduce of the program's own; ddp: by DistributedDataParallel.
slow: rank 1 works 60 ms a step more; turns: each rank in every second step; none: neither. Work is
sleep, so that a busy host changes nothing."""
import json
import os
import socket
import subprocess
import sys
import time

WORK, EXTRA = 0.010, 0.060  # s a step


def launch():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable] + sys.argv,
                              env=dict(os.environ, RANK=str(r), LOCAL_RANK=str(r), WORLD_SIZE='2',
                                       MASTER_ADDR='127.0.0.1', MASTER_PORT=str(port),
                                       OMP_NUM_THREADS='1')) for r in range(2)]
    return max(abs(rank.wait()) for rank in ranks)


def train(folder, steps, way, uneven):
    import torch
    import torch.distributed as dist
    dist.init_process_group('gloo')
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = torch.nn.Linear(256, 64)
    network = torch.nn.parallel.DistributedDataParallel(model) if way == 'ddp' else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(steps * 8, 256), torch.randn(steps * 8, 64))
    began, comm = [], []
    for i, (x, y) in enumerate(torch.utils.data.DataLoader(data, batch_size=8)):
        began.append(time.monotonic_ns())
        late = uneven == 'slow' and rank == 1 or uneven == 'turns' and i % 2 == rank
        time.sleep(WORK + (EXTRA if late else 0))
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(x), y)
        at = time.monotonic_ns()
        loss.backward()
        if way == 'own':
            at = time.monotonic_ns()
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= 2
        comm.append(time.monotonic_ns() - at)
        optimizer.step()
    began.append(time.monotonic_ns())
    with open(os.path.join(folder, '%d.json' % os.getpid()), 'w') as file:
        json.dump({'rank': rank, 'at': began, 'comm': comm}, file)
    # A thread of gloo's that still lets go of a gradient when Python ends aborts the process
    # (pytorch/pytorch#190489).
    dist.destroy_process_group()


if __name__ == '__main__':
    if 'RANK' in os.environ:
        train(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        sys.exit(launch())
