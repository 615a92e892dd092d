# SPDX-License-Identifier: MIT
"""Data sets for public example programs, made here in the formats that they would download: random
images, digits and graphs, words of a made-up language, random weights. Each maker gets the folder that it
fills."""

import array
import gzip
import pickle
import random
import struct

SEED = 1


def random_bytes(count, seed=SEED):
    return random.Random(seed).randbytes(count)


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def mnist(folder, train=15_000):
    """The four idx files as torchvision unpacks them; 60,000 is as many digits as MNIST has."""
    for name, count in (("train", train), ("t10k", train // 6)):
        pixels, labels = random_bytes(count * 28 * 28), bytes(i % 10 for i in range(count))
        for kind, data in (("images-idx3-ubyte", struct.pack(">4i", 2051, count, 28, 28) + pixels),
                           ("labels-idx1-ubyte", struct.pack(">2i", 2049, count) + labels)):
            write(folder / f"MNIST/raw/{name}-{kind}", data)
            write(folder / f"MNIST/raw/{name}-{kind}.gz", gzip.compress(data, 1))


def images(folder, train=1500, val=300, classes=10):
    """Folders of JPEG photographs by class, 500 x 375 as most of ImageNet."""
    import numpy
    from PIL import Image
    rng = numpy.random.default_rng(SEED)
    for part, count in (("train", train), ("val", val)):
        for i in range(count):
            path = folder / f"{part}/n{i % classes:08}/{i:06}.JPEG"
            path.parent.mkdir(parents=True, exist_ok=True)
            blocks = rng.integers(0, 256, (24, 32, 3), "u1")
            Image.fromarray(blocks).resize((500, 375), Image.BICUBIC).save(path, quality=90)


def words(count, vocabulary=20_000, seed=SEED):
    """A text whose words are as unevenly frequent as those of a language."""
    rng = random.Random(seed)
    names = ["".join(rng.choices("etaoinshrdlucmfwyp", k=rng.randint(2, 10))) for _ in range(vocabulary)]
    weights = [1 / (rank + 2.7) for rank in range(vocabulary)]
    return rng.choices(names, weights, k=count)


def sentences(count, length=20, seed=SEED):
    text = words(count * length, seed=seed)
    return [" ".join(text[i:i + length]) for i in range(0, len(text), length)]


def wikitext(folder, train=40_000, valid=4_000):
    """Three files of lines, a fiftieth of WikiText-2."""
    for name, count in (("train", train), ("valid", valid), ("test", valid)):
        write(folder / f"{name}.txt", "\n".join(sentences(count // 20, seed=len(name))).encode())


def characters(folder, count=1_000_000):
    """train.bin, val.bin, meta.pkl: characters as nanoGPT's prepare.py leaves those of Shakespeare."""
    text = " ".join(words(count // 6))[:count]
    letters = sorted(set(text))
    index = {c: i for i, c in enumerate(letters)}
    tokens = array.array("H", (index[c] for c in text))
    cut = int(0.9 * len(tokens))
    write(folder / "train.bin", tokens[:cut].tobytes())
    write(folder / "val.bin", tokens[cut:].tobytes())
    meta = {"vocab_size": len(letters), "itos": dict(enumerate(letters)), "stoi": index}
    write(folder / "meta.pkl", pickle.dumps(meta))


def letters(folder, count=1_000_000):
    """input.txt of minGPT: a text, with the letters of its prompt."""
    write(folder / "input.txt", ("O God, O God! " + " ".join(words(count // 6))).encode())


def labelled(folder, count=100_000):
    """train.txt of fastText: a label and a sentence a line."""
    lines = [f"__label__{i % 14} {line}" for i, line in enumerate(sentences(count, 30))]
    write(folder / "train.txt", ("\n".join(lines) + "\n").encode())


def corpus(folder, count=3_000_000):
    """One line of words, as text8 is."""
    write(folder / "text", " ".join(words(count)).encode())


def gpt2(folder, layers=6, heads=6, channels=384):
    """Weights of a GPT-2 of 30 M parameters with its true vocabulary, tokens, and a tokenizer, as llm.c
    reads them."""
    vocabulary, padded, length = 50257, 50304, 1024
    parameters = (padded + length) * channels + 2 * channels + layers * (
        4 * channels + 3 * channels * (channels + 1) + channels * (channels + 1)
        + 4 * channels * (channels + 1) + channels * (4 * channels + 1))
    header = [20240326, 3, length, vocabulary, layers, heads, channels, padded]
    rng = random.Random(SEED)
    few = array.array("f", (rng.gauss(0, 0.02) for _ in range(65_537)))
    weights = (few.tobytes() * (parameters // len(few) + 1))[:4 * parameters]
    write(folder / "gpt2_124M.bin", struct.pack("256i", *header, *[0] * (256 - len(header))) + weights)
    for name, count in (("train", 300_000), ("val", 32_768)):
        tokens = array.array("H", (rng.randrange(vocabulary) for _ in range(count)))
        write(folder / f"dev/data/tinyshakespeare/tiny_shakespeare_{name}.bin",
              struct.pack("256i", 20240520, 1, count, *[0] * 253) + tokens.tobytes())
    names = b"".join(struct.pack("B", len(t)) + t for t in (b"%x" % i for i in range(vocabulary)))
    write(folder / "gpt2_tokenizer.bin", struct.pack("256I", 20240328, 2, vocabulary, 50256, *[0] * 252) + names)


def cora(folder, papers=2708, features=1433, cites=5429):
    """cora.content and cora.cites with as many papers, words and citations as the original."""
    rng = random.Random(SEED)
    rows = [[str(i), *("1" if rng.random() < 0.0127 else "0" for _ in range(features)), f"class{i % 7}"]
            for i in range(papers)]
    pairs = {(rng.randrange(papers), rng.randrange(papers)) for _ in range(cites + 100)}
    write(folder / "cora.content", "\n".join("\t".join(row) for row in rows).encode())
    write(folder / "cora.cites", "\n".join(f"{a}\t{b}" for a, b in sorted(pairs)[:cites]).encode())


def table(folder, rows=400_000, columns=28):
    """binary.train and binary.test, tab separated, the label first: HIGGS' columns, a 25th of its rows."""
    import numpy
    rng = numpy.random.default_rng(SEED)
    for name, count in (("train", rows), ("test", rows // 10)):
        x = rng.standard_normal((count, columns)).astype("f4")
        y = (x[:, 0] * x[:, 1] + x[:, 2] + rng.standard_normal(count) > 0).astype("f4")
        folder.mkdir(parents=True, exist_ok=True)
        numpy.savetxt(folder / f"binary.{name}", numpy.column_stack([y, x]), "%.4f", "\t")
        (folder / f"binary.{name}.weight").unlink(missing_ok=True)




def higgs(folder, rows=250_000, columns=30):
    """training.csv as Kaggle's: an id, features, a weight, a letter; as many rows."""
    import numpy
    rng = numpy.random.default_rng(SEED)
    x = rng.standard_normal((rows, columns))
    signal = x[:, 0] * x[:, 1] + x[:, 2] + rng.standard_normal(rows) > 0
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "training.csv", "w") as out:
        out.write(",".join(["EventId", *(f"f{i}" for i in range(columns)), "Weight", "Label"]) + "\n")
        for i in range(rows):
            out.write(f"{i}," + ",".join(f"{v:.3f}" for v in x[i]) + f",{0.5 + i % 3},{'s' if signal[i] else 'b'}\n")
