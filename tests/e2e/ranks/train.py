# SPDX-License-Identifier: MIT
"""Data-parallel training of two ranks on a CPU, by gloo, started as torchrun does. Each rank works
for a set time and prints its own clock: "rank R pid=N work=NS comm=NS whole=NS", from 3 in 10 of the
steps on, as the report's window.

    train.py STEPS own|ddp none|slow|turns

own: gradients are averaged by an all_reduce of the program's own; ddp: by DistributedDataParallel.
slow: rank 1 works 60 ms a step more; turns: each rank in every second step; none: neither. Work is
sleep, so that a busy host changes nothing."""
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


def train(steps, way, uneven):
    import torch
    import torch.distributed as dist
    dist.init_process_group('gloo')
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = torch.nn.Linear(256, 64)
    network = torch.nn.parallel.DistributedDataParallel(model) if way == 'ddp' else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(steps * 8, 256), torch.randn(steps * 8, 64))
    first = steps * 3 // 10
    work = comm = begun = 0
    for i, (x, y) in enumerate(torch.utils.data.DataLoader(data, batch_size=8)):
        if i == first:
            begun, work, comm = time.monotonic_ns(), 0, 0
        late = uneven == 'slow' and rank == 1 or uneven == 'turns' and i % 2 == rank
        at = time.monotonic_ns()
        time.sleep(WORK + (EXTRA if late else 0))
        work += time.monotonic_ns() - at
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(x), y)
        at = time.monotonic_ns()
        loss.backward()
        if way == 'own':
            at = time.monotonic_ns()
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= 2
        comm += time.monotonic_ns() - at
        optimizer.step()
    print('rank %d pid=%d work=%d comm=%d whole=%d\n' % (rank, os.getpid(), work, comm,
                                                        time.monotonic_ns() - begun), end='',
          flush=True)
    # A thread of gloo's that still lets go of a gradient when Python ends aborts the process
    # (pytorch/pytorch#190489).
    dist.destroy_process_group()


if __name__ == '__main__':
    if 'RANK' in os.environ:
        train(int(sys.argv[1]), sys.argv[2], sys.argv[3])
    else:
        sys.exit(launch())
