# SPDX-License-Identifier: MIT
"""Sound files read by the standard library and turned into spectra by NumPy in the training process."""
import pathlib
import tempfile
import wave

import numpy
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "spectra": ("transform", ["transform.in_process", "transform.slow_op"]),
    "log": ("periodic", ["periodic.logging"]),
}
COUNT, BINS = 128, 257


def main():
    random = numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        for index in range(COUNT):
            with wave.open(f"{folder}/{index}.wav", "wb") as out:
                out.setnchannels(1), out.setsampwidth(2), out.setframerate(16000)
                out.writeframes(random.integers(-9000, 9000, level(700, 3200, 11000), dtype="i2").tobytes())

        def sample(index):
            with wave.open(str(pathlib.Path(folder) / f"{index}.wav")) as clip:
                signal = numpy.frombuffer(clip.readframes(clip.getnframes()), "i2").astype("f4") / 32768
            frames = numpy.lib.stride_tricks.sliding_window_view(signal, 512)[::128] * numpy.hanning(512)
            power = numpy.abs(numpy.fft.rfft(frames)) ** 2
            return torch.from_numpy(numpy.log1p(power).mean(0).astype("f4")), index % 10

        def between(step, model, clock):
            if has("log") and step % 5 == 0:
                with clock.during("periodic"):
                    print("step", step, [round(p.abs().mean().item(), 4) for p in model.parameters()], flush=True)

        train(loader_of(COUNT, sample if has("spectra") else made_before(COUNT, sample)), perceptron(BINS, level(600, 420, 360)), between)


if __name__ == "__main__":
    main()
