"""Lines that a person who knows PyTorch types in the first hour. Each must run; other tests hold their values. Prints
the lines that fail, and fails if fewer than EXPECTED run. Run by CTest.
"""

import copy
import pickle
import sys
import warnings

import halftone as ht
from halftone import nn

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed (Debian: python3-numpy)")
    sys.exit(77)

# The number of lines that run without PyTorch. A line that begins to run raises it.
EXPECTED = 178

TENSORS = """
repr(t)
len(t)
[row.shape for row in t]
t[0]
t[..., None].shape
t[None].shape
t[:, ::2].numpy()
t[::-1].numpy()
t[t > 5].numpy()
t[[0, 2]].numpy()
t[:, [1, 3]].numpy()
t[ht.tensor(np.array([0, 2]))].numpy()
t[0, 1].item()
float(t[0, 1])
bool(t[0, 1] > 0)
t.clone().__setitem__((slice(1, None), slice(None, None, 2)), 0)
t.clone().__setitem__(t > 5, 0)
t.clone().__setitem__(0, ht.ones(4))
t + 1
1 + t
t * 2.5
2 / t
t ** 2
2 ** t
-t
abs(t)
t @ t.T
t // 2
t % 3
t == t
t != t
t < 3
~(t < 3)
(t < 3) & (t > 1)
(t < 1) | (t > 3)
np.float32(2) * t
np.ones(4, "f4") * t
t.sum()
t.mean(0)
t.mean(dim=0, keepdim=True)
t.sum(dim=(0, 1))
t.max()
t.max(dim=1).indices
t.argmax()
t.argmax(1)
t.var(unbiased=False)
t.std()
t.norm()
t.reshape(4, 3)
t.view(4, 3)
t.view(-1)
t.reshape([4, 3])
t.permute(1, 0)
t.transpose(0, 1)
t.unsqueeze(0)
t.squeeze()
t.flatten()
t.to("bf16")
t.to("cpu")
t.to(t.device)
t.to(ht.float16)
t.float()
t.half()
t.bfloat16()
t.long()
t.cpu()
t.numpy()
t.tolist()
t.detach()
t.clone()
t.clone().requires_grad_()
t.exp()
t.softmax(-1)
t.softmax(dim=1)
t.cumsum(0)
t.topk(2)
t.sort(1)
t.masked_fill(t > 5, 0)
t.expand(2, 3, 4)
t.repeat(2, 1)
t.chunk(2, 0)
t.split(2, 1)
t.gather(1, ht.tensor(np.array([[0], [1], [2]])))
t.clamp(0, 5)
t.clamp(min=1)
t.clone().add_(1)
t.clone().mul_(2).zero_()
t.clone().fill_(1)
t.clone().copy_(t)
t.size()
t.size(0)
t.dim()
t.ndim
t.shape
t.dtype
t.device
t.numel()
t.is_contiguous()
t.contiguous()
t.T
t.mT
np.asarray(t)
np.array(t)
t.any()
t.all()
t.abs()
t.sqrt()
t.log()
t.sin()
t.tanh()
t.sigmoid()
t.relu()
t.pow(2)
t.matmul(t.T)
t.mm(t.T)
t[None].bmm(t[None].mT)
t.where(t > 3, 0)
(t.clone().requires_grad_() * 2).sum().backward()
ht.tensor([1.0], requires_grad=True).grad
t.data
t.type()
t.new_zeros(2)
t.eq(t)
t.add(1)
t.isnan()
ht.allclose(t, t)
ht.zeros(2, 3)
ht.zeros([2, 3])
ht.ones((2,))
ht.randn(2, 3)
ht.rand(2, device="cpu", dtype=ht.float32)
ht.randint(0, 10, (2, 3))
ht.arange(5)
ht.linspace(0, 1, 5)
ht.eye(3)
ht.full((2,), 1.0)
ht.empty(2)
ht.zeros_like(t)
ht.cat([t, t], 0)
ht.cat([t, t], dim=-1)
ht.stack([t, t])
ht.where(t > 3, t, 0)
ht.maximum(t, 1)
ht.manual_seed(0)
ht.einsum("ij,kj->ik", t, t)
ht.no_grad()(len)(t)
ht.save({"t": t}, path)
ht.load(path)["t"]
ht.set_num_threads(ht.get_num_threads())
ht.device("cuda" if ht.cuda.is_available() else "cpu") == t.device
t.to(ht.device("cpu")).device.type
hash(t)
format(t[0, 0], ".3f")
f"{t[0, 0]:.2f}"
copy.deepcopy(t)
pickle.loads(pickle.dumps(t))
"""

MODULES = """
net()(t).shape
[name for name, _ in net().named_parameters()]
net().state_dict()
net().__setattr__("b", nn.Linear(8, 5))
str(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
nn.Sequential(nn.Linear(4, 8), nn.ReLU())[0]
isinstance(nn.Linear(4, 2), nn.Linear)
nn.Linear(4, 2).weight.shape
nn.Conv2d(1, 8, 3, padding=1)(ht.ones(1, 1, 5, 5))
nn.MaxPool2d(2)(ht.ones(1, 1, 4, 4))
nn.Dropout()(t)
nn.ModuleList([nn.Linear(4, 4)])
nn.CrossEntropyLoss()(t, ht.tensor([0, 1, 2]))
nn.functional.relu(t)
nn.Linear(4, 2).to("cpu").train().eval()
nn.Linear(np.int64(4), 2)
nn.Linear(4, 2, bias=0)
ht.optim.AdamW(net().parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
ht.optim.SGD(net().parameters(), lr=0.1, momentum=0.9).zero_grad()
ht.Optimizer.adamw(nn.Linear(4, 2), lr=1e-3, weight_decay=0.1, betas=(0.9, 0.95))
ht.Optimizer.adamw(list(nn.Linear(4, 2).parameters()), lr=1e-3)
ht.optim.lr_scheduler.CosineAnnealingLR(ht.optim.SGD(net().parameters(), lr=0.1), 10).step()
"""

TORCH = """
torch.from_dlpack(t)
ht.from_dlpack(torch.ones(2))
"""


class Net(ht.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.b(ht.relu(self.a(x)))


def count_running(lines, names):
    running = 0
    for line in lines.strip().splitlines():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch warns of schedules without steps, too
                eval(line, {**names, "t": ht.tensor(np.arange(12, dtype="f4").reshape(3, 4))})
            running += 1
        except Exception as error:
            print(f"fails: {line}: {type(error).__name__}: {error}")
    return running


def main():
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        names = {"ht": ht, "nn": nn, "np": np, "copy": copy, "pickle": pickle, "net": Net, "path": f"{folder}/file"}
        running = count_running(TENSORS, names) + count_running(MODULES, names)
        count = len((TENSORS.strip() + MODULES.rstrip()).splitlines())
        try:
            import torch
        except ImportError as error:
            print(f"skipped: the lines with torch: {error} (Debian: python3-torch)")
        else:
            if count_running(TORCH, {**names, "torch": torch}) < len(TORCH.strip().splitlines()):
                return 1
    print(f"{running} of {count} lines run, expected {EXPECTED}")
    return 0 if running >= EXPECTED else 1


if __name__ == "__main__":
    sys.exit(main())
