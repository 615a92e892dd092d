#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the demo's image data set: JPEGs that cost to decode what photographs cost.

Each image is noise at several scales (as much fine detail as a photograph has: about 0.35 bytes a
pixel at quality 90) with a shape of its class's colour in front. Ten classes, one folder each. The
same seed gives the same pixels; nothing is downloaded. A set that is already there is left alone.
"""
import argparse
import multiprocessing
import os

import numpy
from PIL import Image, ImageDraw

CLASSES = 10
# Width, height, share: the sizes of an everyday photo collection, scaled down for the web.
SIZES = [((500, 375), 0.70), ((640, 480), 0.20), ((1280, 960), 0.10)]
SCALES = [(3, 40), (9, 25), (27, 15), (81, 10)]  # cells across the image, strength


def texture(dice, width, height):
    image = numpy.full((height, width, 3), 128, numpy.float32)
    for cells, strength in SCALES:
        rows = max(2, cells * height // width)
        noise = dice.normal(0, strength, (rows, cells, 3)).astype(numpy.float32)
        for channel in range(3):
            layer = Image.fromarray(noise[:, :, channel])
            image[:, :, channel] += numpy.asarray(layer.resize((width, height), Image.BICUBIC))
    return image + dice.normal(0, 4, image.shape)


def draw(index, seed):
    dice = numpy.random.default_rng([seed, index])
    (width, height), _ = SIZES[dice.choice(len(SIZES), p=[share for _, share in SIZES])]
    label = index % CLASSES
    pixels = numpy.clip(texture(dice, width, height), 0, 255).astype(numpy.uint8)
    image = Image.fromarray(pixels)
    x, y, r = dice.uniform(0.3, 0.7) * width, dice.uniform(0.3, 0.7) * height, height / 4
    colour = tuple(int(c) for c in numpy.random.default_rng(label).integers(40, 215, 3))
    ImageDraw.Draw(image).ellipse([x - r, y - r, x + r, y + r], fill=colour)
    return image


def make(job):
    index, folder, seed = job
    path = os.path.join(folder, 'class%d' % (index % CLASSES), '%05d.jpg' % index)
    draw(index, seed).save(path + '.part', 'JPEG', quality=90)
    os.replace(path + '.part', path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('folder', nargs='?', default='demo-data/images')
    parser.add_argument('--count', type=int, default=800)
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    done = os.path.join(args.folder, '.complete')
    want = '%d %d\n' % (args.count, args.seed)
    if os.path.exists(done) and open(done).read() == want:
        return
    for label in range(CLASSES):
        os.makedirs(os.path.join(args.folder, 'class%d' % label), exist_ok=True)
    with multiprocessing.Pool() as pool:
        pool.map(make, [(i, args.folder, args.seed) for i in range(args.count)], chunksize=8)
    with open(done, 'w') as file:
        file.write(want)
    print('%d images in %s' % (args.count, args.folder))


if __name__ == '__main__':
    main()
