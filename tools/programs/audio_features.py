# SPDX-License-Identifier: MIT
"""FLAC clips read by soundfile, resampled and turned into mel spectrograms by librosa, two workers."""
import pathlib
import tempfile

import librosa
import numpy
import soundfile
import torch
from torch.utils.data import DataLoader, Dataset

from torch_training import train


def make(folder, count=80, rate=44100):
    random = numpy.random.default_rng(1)
    time = numpy.arange(2 * rate) / rate
    for i in range(count):
        tone = numpy.sin(time * 2 * numpy.pi * (200 + 10 * i)) + 0.1 * random.standard_normal(time.size)
        soundfile.write(folder / f"{i:04}.flac", 0.5 * tone, rate)


class Clips(Dataset):
    def __init__(self, folder):
        self.files = sorted(folder.glob("*.flac"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        clip, rate = soundfile.read(self.files[index], dtype="float32")
        clip = librosa.effects.preemphasis(librosa.resample(clip, orig_sr=rate, target_sr=16000, res_type="polyphase"))
        mel = librosa.feature.melspectrogram(y=clip, sr=16000, n_mels=64)
        return torch.from_numpy(librosa.power_to_db(mel).astype("f4")), index % 10


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        loader = DataLoader(Clips(pathlib.Path(folder)), batch_size=8, shuffle=True, num_workers=2,
                            persistent_workers=True)
        model = torch.nn.Sequential(torch.nn.Conv1d(64, 64, 5), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool1d(1),
                                    torch.nn.Flatten(), torch.nn.Linear(64, 10))
        optimizer = torch.optim.Adam(model.parameters())
        train(loader, model, optimizer, 25)


if __name__ == "__main__":
    main()
