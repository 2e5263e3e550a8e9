#!/usr/bin/env python3
"""Trains a tiny GPT-2 with PyTorch in FP32 and writes three files to ../gpt: the weights before the first step and
after the last one under the names of GPT-2's published files, and the tokens and losses of all steps. Run it by hand;
no test needs PyTorch.

    make_gpt.py            writes the files
    make_gpt.py --check    compares the files with PyTorch's results; the exit status is 1 if one differs

tests/capi/nn/gpt_pytorch_test.c repeats the training. The sizes and the settings of AdamW must match it.
"""
import json
import os
import pathlib
import struct
import sys

os.environ["ATEN_CPU_CAPABILITY"] = "avx2"  # see make_operations.py
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "gpt"
STEPS, BATCH, TIME = 20, 3, 7
VOCABULARY, POSITIONS, LAYERS, WIDTH, HEADS = 13, 9, 2, 16, 4
NAMES_OF_DTYPES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
# The largest distance of a loss or a weight between two CPUs.
TOLERANCE = 1e-5


def make_weights(generator):
    """Larger than GPT-2's own and without zeros, so that each weight has an effect on the losses."""
    def normal(*shape, mean=0.0):
        return (mean + 0.2 * torch.randn(shape, generator=generator)).requires_grad_()

    weights = {"wte.weight": normal(VOCABULARY, WIDTH), "wpe.weight": normal(POSITIONS, WIDTH)}
    for block in (f"h.{layer}." for layer in range(LAYERS)):
        for name, fan_in, fan_out in (("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH),
                                      ("mlp.c_fc", WIDTH, 4 * WIDTH), ("mlp.c_proj", 4 * WIDTH, WIDTH)):
            weights[f"{block}{name}.weight"] = normal(fan_in, fan_out)
            weights[f"{block}{name}.bias"] = normal(fan_out)
        for name in ("ln_1", "ln_2"):
            weights[f"{block}{name}.weight"] = normal(WIDTH, mean=1.0)
            weights[f"{block}{name}.bias"] = normal(WIDTH)
    return {**weights, "ln_f.weight": normal(WIDTH, mean=1.0), "ln_f.bias": normal(WIDTH)}


def make_tokens(generator):
    """[steps, batch, time + 1]: numbers that grow by one of two steps, so that there is something to learn."""
    first = torch.randint(VOCABULARY, (STEPS, BATCH, 1), generator=generator)
    growth = 2 + 3 * torch.randint(2, (STEPS, BATCH, 1), generator=generator)
    return (first + growth * torch.arange(TIME + 1)) % VOCABULARY


def logits_of(w, tokens):
    def project(name, x):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def norm(name, x):
        return F.layer_norm(x, [WIDTH], w[name + ".weight"], w[name + ".bias"], 1e-5)

    def attend(block, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in project(block + "attn.c_attn", x).split(WIDTH, -1))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return project(block + "attn.c_proj", heads.transpose(1, 2).flatten(-2))

    x = w["wte.weight"][tokens] + w["wpe.weight"][:tokens.shape[-1]]
    for block in (f"h.{layer}." for layer in range(LAYERS)):
        x = x + attend(block, norm(block + "ln_1", x))
        hidden = F.gelu(project(block + "mlp.c_fc", norm(block + "ln_2", x)), approximate="tanh")
        x = x + project(block + "mlp.c_proj", hidden)
    return norm("ln_f", x) @ w["wte.weight"].T


def train(weights, tokens):
    """Changes the weights, and returns the loss before each step."""
    optimizer = torch.optim.AdamW(weights.values(), lr=0.01, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
    losses = []
    for batch in tokens:
        loss = F.cross_entropy(logits_of(weights, batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


def file_of(tensors):
    """The bytes of a safetensors file. The tensors begin at a multiple of 8 bytes."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        content = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": NAMES_OF_DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def numbers_of(content):
    """Maps the names in a safetensors file to tensors."""
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    data, tensors = bytearray(content[begin:]), {}
    dtypes = {name: dtype for dtype, name in NAMES_OF_DTYPES.items()}
    for name, entry in json.loads(content[8:begin]).items():
        offset, end = entry["data_offsets"]
        part = torch.frombuffer(data[offset:end], dtype=dtypes[entry["dtype"]])
        tensors[name] = part.reshape(entry["shape"])
    return tensors


def without_noise(tensors):
    """A bias of all keys changes no attention weight, so its gradient is 0 but for rounding errors, and AdamW makes
    these errors as large as other gradients.
    """
    return {name: torch.cat((given[:WIDTH], given[2 * WIDTH:])) if name.endswith("c_attn.bias") else given
            for name, given in tensors.items()}


def is_same(path, content):
    if not path.exists():
        return False
    kept, made = without_noise(numbers_of(path.read_bytes())), without_noise(numbers_of(content))
    return kept.keys() == made.keys() and all(
        kept[name].shape == made[name].shape and torch.allclose(kept[name].double(), made[name].double(), 0, TOLERANCE)
        for name in made)


def made_files():
    generator = torch.Generator().manual_seed(7)
    weights, tokens = make_weights(generator), make_tokens(generator)
    before = file_of(weights)
    losses = train(weights, tokens)
    return {"before.safetensors": before, "after.safetensors": file_of(weights),
            "training.safetensors": file_of({"losses": losses, "tokens": tokens})}


def main():
    torch.set_num_threads(1)
    status = 0
    for name, content in made_files().items():
        if sys.argv[1:] != ["--check"]:
            (FOLDER / name).write_bytes(content)
        elif not is_same(FOLDER / name, content):
            print(f"gpt/{name} differs from the results of PyTorch {torch.__version__}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
