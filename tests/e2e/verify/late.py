# SPDX-License-Identifier: MIT
"""An evaluation of 60 batches, then a training, whose loader's workers wait for a lock for ever: at once, or
with the argument `later` after 50 batches."""
import os, signal, sys, threading, time, torch
from torch.utils.data import DataLoader, Dataset
print("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS"), flush=True)
class Slow(Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i):
        time.sleep(0.004)
        if torch.utils.data.get_worker_info() and "dies" in sys.argv and i >= 400: os._exit(3)
        if torch.utils.data.get_worker_info() and i >= (400 if "later" in sys.argv else 4000 if "ends" in sys.argv else 0): lock.acquire()
        return torch.ones(4)
runs = int(open("runs").read()) if os.path.exists("runs") else 0
open("runs", "w").write(str(runs + 1))
if str(runs + 1) in os.environ.get("FAILS", "").split(): sys.exit("ConnectionError: no answer")
terms = []
def save(number, frame):
    terms.append(number)
    time.sleep(1)
    print("saving", flush=True)
    open("saved", "w").write(str(len(terms)))
    sys.exit(0)
if "save" in sys.argv: signal.signal(signal.SIGTERM, save)
if "handles" in sys.argv: signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
lock = threading.Lock()
lock.acquire()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
model.eval()
with torch.no_grad():
    for i, batch in enumerate(DataLoader(Slow(), batch_size=8)):
        model(batch)
        if i == 60: break
model.train()
for i, batch in enumerate(DataLoader(Slow(), batch_size=8)):
    model(batch).mean().backward()
    optimizer.step()
    if i == (120 if "ends" in sys.argv else 190): break
until = time.monotonic() + (1.6 if "ends" in sys.argv else 0)
while time.monotonic() < until: model(torch.ones(64, 4)).sum().item()
