"""Models that several tests of Python use."""

import io

import halftone as ht
from halftone import nn


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(width, 8), nn.ReLU())
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(self.features(x))


def ones(*shape):
    return ht.Tensor.full(ht.default_device(), "f32", shape, 1.0)


class Scaled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


def tiny_gpt():
    return nn.Transformer(vocabulary=8, positions=4, layers=1, width=8, heads=2)


def through_file(module):
    file = io.BytesIO()
    ht.save({"model": module}, file)
    file.seek(0)
    return ht.load(file, weights_only=False)["model"]
