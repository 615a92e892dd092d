# SPDX-License-Identifier: MIT
"""Clips of H.264 decoded by PyAV, two workers."""
import pathlib
import tempfile

import av
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from torch_training import train


def make(folder, count=24, frames=48, side=256):
    random = numpy.random.default_rng(1)
    for i in range(count):
        with av.open(str(folder / f"{i:03}.mp4"), "w") as out:
            stream = out.add_stream("libx264", rate=24)
            stream.width = stream.height = side
            picture = random.integers(0, 255, (side // 8, side // 8, 3), "u1").repeat(8, 0).repeat(8, 1)
            for k in range(frames):
                frame = av.VideoFrame.from_ndarray(numpy.roll(picture, 3 * k, 1), format="rgb24")
                out.mux(stream.encode(frame))
            out.mux(stream.encode())


class Clips(Dataset):
    def __init__(self, folder, each=8):
        self.files = sorted(folder.glob("*.mp4")) * each

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        with av.open(str(self.files[index])) as clip:
            frames = [frame.to_ndarray(format="rgb24") for frame in clip.decode(video=0)]
        clip = torch.from_numpy(numpy.stack(frames[::6])).permute(3, 0, 1, 2)
        return clip[:, :, ::2, ::2].float() / 255, index % 4


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        loader = DataLoader(Clips(pathlib.Path(folder)), batch_size=4, shuffle=True, num_workers=2,
                            persistent_workers=True)
        model = torch.nn.Sequential(torch.nn.Conv3d(3, 8, (3, 5, 5), (1, 4, 4)), torch.nn.ReLU(),
                                    torch.nn.AdaptiveAvgPool3d(2), torch.nn.Flatten(), torch.nn.Linear(64, 4))
        optimizer = torch.optim.Adam(model.parameters())
        train(loader, model, optimizer, 4)


if __name__ == "__main__":
    main()
