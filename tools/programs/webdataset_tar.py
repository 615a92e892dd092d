# SPDX-License-Identifier: MIT
"""JPEGs in tar shards through webdataset, two workers."""
import tempfile

import numpy
import torch
import webdataset

from torch_training import classifier, train


def make(folder, shards=4, each=100, side=192):
    random = numpy.random.default_rng(1)
    for shard in range(shards):
        with webdataset.TarWriter(f"{folder}/{shard:03}.tar") as out:
            for i in range(each):
                noise = random.integers(0, 255, (side // 8, side // 8, 3), "u1")
                out.write({"__key__": f"{shard}{i:05}", "jpg": noise.repeat(8, 0).repeat(8, 1), "cls": i % 10})


def ready(sample):
    image, label = sample
    image = image[16:176, 16:176][:, ::-1].transpose(2, 0, 1)
    return torch.from_numpy(numpy.ascontiguousarray(image)), label


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        shards = webdataset.WebDataset(folder + "/{000..003}.tar", shardshuffle=4)
        data = shards.shuffle(100).decode("rgb").to_tuple("jpg", "cls").map(ready).batched(20)
        loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=2)
        train(loader, *classifier(torch.nn.Conv2d(3, 16, 5, 2), torch.nn.AdaptiveAvgPool2d(4), 256), 18)


if __name__ == "__main__":
    main()
