#!/usr/bin/env python3
"""The weights that the GPT sample writes have GPT-2's names and layouts: a forward pass of GPT-2 in plain Python over
the file gives the sample's validation loss. The sample reads such files, as they are published.
"""

import json
import math
import struct

import sample_run

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY = 2, 8, 2, 6, 256
SHAPE = ["--layers", "2", "--width", "8", "--heads", "2", "--context", "6", "--batch", "4", "--precision", "fp32"]
TEXT = b"the cat saw the moon and the dog saw the cat. " * 10

BLOCK = {
    "ln_1.weight": [WIDTH], "ln_1.bias": [WIDTH],
    "attn.c_attn.weight": [WIDTH, 3 * WIDTH], "attn.c_attn.bias": [3 * WIDTH],
    "attn.c_proj.weight": [WIDTH, WIDTH], "attn.c_proj.bias": [WIDTH],
    "ln_2.weight": [WIDTH], "ln_2.bias": [WIDTH],
    "mlp.c_fc.weight": [WIDTH, 4 * WIDTH], "mlp.c_fc.bias": [4 * WIDTH],
    "mlp.c_proj.weight": [4 * WIDTH, WIDTH], "mlp.c_proj.bias": [WIDTH],
}  # fmt: skip
PUBLISHED = {
    "wte.weight": [VOCABULARY, WIDTH], "wpe.weight": [CONTEXT, WIDTH], "ln_f.weight": [WIDTH], "ln_f.bias": [WIDTH],
    **{f"h.{i}.{name}": shape for i in range(LAYERS) for name, shape in BLOCK.items()},
}  # fmt: skip


def read_file(path):
    """Returns shape and numbers of every tensor of a safetensors file of FP32."""
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + length]).items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", entry
        begin, end = entry["data_offsets"]
        data = raw[8 + length + begin:8 + length + end]
        tensors[name] = (entry["shape"], struct.unpack(f"<{len(data) // 4}f", data))
    return tensors


def write_file(path, tensors):
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        packed = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Gpt2:
    """The published model, in double precision: matrices are [in, out]."""

    def __init__(self, tensors):
        self.tensors = tensors

    def rows(self, name):
        (_, columns), numbers = self.tensors[name]
        return [numbers[i:i + columns] for i in range(0, len(numbers), columns)]

    def linear(self, name, x):
        out = list(self.tensors[f"{name}.bias"][1])
        for value, row in zip(x, self.rows(f"{name}.weight")):
            out = [total + value * weight for total, weight in zip(out, row)]
        return out

    def norm(self, name, x):
        mean = sum(x) / len(x)
        scale = 1 / math.sqrt(sum((value - mean) ** 2 for value in x) / len(x) + 1e-5)
        weight, bias = self.tensors[f"{name}.weight"][1], self.tensors[f"{name}.bias"][1]
        return [(value - mean) * scale * w + b for value, w, b in zip(x, weight, bias)]

    def attention(self, name, xs):
        size = WIDTH // HEADS
        projected = [self.linear(f"{name}.c_attn", x) for x in xs]
        mixed = [[] for _ in xs]
        for begin in range(0, WIDTH, size):
            q, k, v = ([p[part + begin:part + begin + size] for p in projected] for part in (0, WIDTH, 2 * WIDTH))
            for i in range(len(xs)):
                scores = [math.exp(sum(a * b for a, b in zip(q[i], k[j])) / math.sqrt(size)) for j in range(i + 1)]
                mixed[i] += [sum(s * v[j][c] for j, s in enumerate(scores)) / sum(scores) for c in range(size)]
        return [self.linear(f"{name}.c_proj", x) for x in mixed]

    def mlp(self, name, x):
        hidden = [
            0.5 * u * (1 + math.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
            for u in self.linear(f"{name}.c_fc", x)
        ]
        return self.linear(f"{name}.c_proj", hidden)

    def losses(self, tokens, targets):
        """Returns the cross entropy of each target."""
        wte, wpe = self.rows("wte.weight"), self.rows("wpe.weight")
        xs = [add(wte[token], wpe[place]) for place, token in enumerate(tokens)]
        for i in range(LAYERS):
            mixed = self.attention(f"h.{i}.attn", [self.norm(f"h.{i}.ln_1", x) for x in xs])
            xs = [add(x, y) for x, y in zip(xs, mixed)]
            xs = [add(x, self.mlp(f"h.{i}.mlp", self.norm(f"h.{i}.ln_2", x))) for x in xs]
        for x, target in zip(xs, targets):
            x = self.norm("ln_f", x)
            logits = [sum(a * b for a, b in zip(x, row)) for row in wte]
            yield math.log(sum(map(math.exp, logits))) - logits[target]


def add(x, y):
    return [a + b for a, b in zip(x, y)]


def validation_loss(model):
    """Returns the mean loss over the windows of the held-out text."""
    text = TEXT[len(TEXT) - len(TEXT) // 10:]
    windows = [text[i:i + CONTEXT + 1] for i in range(0, len(text) - CONTEXT, CONTEXT)]
    assert len(windows) % 4 != 0, "the last batch is to be a smaller one"
    return sum(sum(model.losses(w[:-1], w[1:])) for w in windows) / (len(windows) * CONTEXT)


class GptWeightsTest(sample_run.ProgramTest):
    encoding = "latin-1"  # a model that has learnt little writes any bytes

    def setUp(self):
        super().setUp()
        text = self.folder / "text"
        text.write_bytes(TEXT)
        self.leading = ["--text", text, *SHAPE]
        self.weights = self.folder / "model.safetensors"

    def loss_of(self, *arguments):
        output = self.run_well("--steps", "20", "--lr", "1e-2", *arguments)
        return float(output.partition("\nvalidation loss ")[2].partition("\n")[0])

    def unchanged(self, path):
        """Returns the validation loss of a file's weights: a step at the rate 0 leaves them as they are."""
        return self.loss_of("--import", path, "--lr", "0", "--steps", "1")

    def test_the_export_has_the_published_names_and_shapes(self):
        self.loss_of("--export", self.weights)
        self.assertEqual({name: shape for name, (shape, _) in read_file(self.weights).items()}, PUBLISHED)

    def test_gpt2_over_the_export_gives_the_same_loss(self):
        for arguments in ([], ["--precision", "bf16"]):
            told = self.loss_of("--export", self.weights, *arguments)
            # In BF16 the sample rounds weights and activations, and the file has the FP32 masters.
            delta = 0.03 if arguments else 2e-5
            self.assertAlmostEqual(validation_loss(Gpt2(read_file(self.weights))), told, delta=delta)

    def test_a_published_file_is_read_under_both_forms_of_its_names(self):
        told = self.loss_of("--export", self.weights)
        tensors = read_file(self.weights)
        others = {"h.0.attn.bias": ([1, 1, 6, 6], [1.0] * 36), "lm_head.weight": tensors["wte.weight"]}
        for prefix in ("", "transformer."):
            path = self.folder / "published.safetensors"
            write_file(path, {prefix + name: tensor for name, tensor in {**tensors, **others}.items()})
            self.assertEqual(self.unchanged(path), told)
        self.assertNotEqual(self.loss_of("--lr", "0", "--steps", "1"), told)

    def test_training_goes_on_from_imported_weights(self):
        told = self.loss_of("--export", self.weights)
        self.assertLess(self.loss_of("--import", self.weights, "--steps", "60"), told)

    def test_a_place_that_cannot_be_written_is_named(self):
        path = self.folder / "none/model"
        self.assert_fails(self.run_sample("--steps", "1", "--export", path), 1, path.parent)

    def assert_refused(self, *parts):
        result = self.run_sample("--import", self.weights, "--steps", "1")
        self.assert_fails(result, 1, *parts)

    def test_a_file_that_does_not_fit_is_refused(self):
        self.assert_refused(self.weights, "No such file")
        self.weights.write_bytes(b"no such format")
        self.assert_refused(self.weights)
        self.loss_of("--export", self.weights)
        tensors = read_file(self.weights)
        write_file(self.weights, {name: tensor for name, tensor in tensors.items() if name != "h.1.mlp.c_fc.bias"})
        self.assert_refused("h.1.mlp.c_fc.bias")
        write_file(self.weights, {**tensors, "h.2.ln_1.bias": tensors["ln_f.bias"]})
        self.assert_refused("h.2.ln_1.bias")
        write_file(self.weights, {**tensors, "h.0.attn.c_attn.weight": ([3 * WIDTH, WIDTH], [0.0] * 24 * WIDTH)})
        self.assert_refused("h.0.attn.c_attn.weight")


if __name__ == "__main__":
    sample_run.main()
