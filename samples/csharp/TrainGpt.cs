using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Halftone;

/// <summary>
/// Trains a GPT on the bytes of a text with AdamW, prints its loss on the last tenth of the text, and lets it write. It
/// is samples/c/train_gpt.c in C#, for bytes: with the same flags and seed it computes the same losses.
/// samples/data/make_text writes the default text.
/// </summary>
sealed class TrainGpt {
  const string TextPath = "build/data/bible-kjv.txt";
  const int ValidationBatches = 100;  // more would change the validation loss little
  const int WarmupShare = 20;  // the learning rate climbs in the first twentieth: AdamW's first moments are noise
  static readonly string[] sizes = {"vocabulary", "context", "layers", "width", "heads"};
  static readonly Dictionary<string, long[]> presets = new Dictionary<string, long[]> {
    {"tiny", new long[] {256, 64, 2, 64, 4}}, {"small", new long[] {256, 128, 4, 192, 6}},
    {"gpt2", new long[] {50257, 1024, 12, 768, 12}}};
  static readonly Dictionary<string, string> recomputed = new Dictionary<string, string> {
    {"none", null}, {"full", "transformer_block"}, {"selective", "multihead_attention"}};

  readonly Flags flags;
  readonly Trainer trainer;
  readonly long context, batch;

  TrainGpt(Flags flags) {
    this.flags = flags;
    trainer = new Trainer(flags);
    context = Size("context");
    batch = flags.Whole("--batch");
  }

  long Size(string name) {
    return flags.Has("--" + name) ? flags.Whole("--" + name)
                                  : presets[flags.Text("--preset")][Array.IndexOf(sizes, name)];
  }

  /// <summary>
  /// Batches of windows over a part of the text, which do not overlap: tokens, and the tokens that follow.
  /// </summary>
  sealed class Windows {
    internal readonly Sampler Sampler;
    internal readonly Batches Batches;
    readonly Trainer trainer;

    internal Windows(Trainer trainer, Tensor text, long context, SamplerOptions options) {
      this.trainer = trainer;
      options.Count = Ops.WindowCount(text.Numel, context, context);
      Sampler = new Sampler(options);
      Batches = Batches.Windows(Sampler, text, context, context);
    }

    /// <summary>The mean loss of the next batch.</summary>
    internal Tensor Loss() {
      Batches.Advance();
      var logits = trainer.Model.Forward(Batches.Tensor(0));
      return Ops.CrossEntropy(logits.Reshape(-1, logits.Shape.Last()), Batches.Tensor(1).Reshape(-1));
    }
  }

  byte[] Read() {
    try {
      return File.ReadAllBytes(flags.Text("--text"));
    } catch (IOException error) {
      throw Flags.Refuse($"--text {flags.Text("--text")}: {error.Message}; samples/data/make_text writes {TextPath}");
    }
  }

  Tensor Tokens(IEnumerable<byte> text) { return Tensor.From(trainer.Device, text.ToArray()).Cast(Dtype.I32); }

  void CheckSizes(long training, long heldOut) {
    long windows = Ops.WindowCount(training, context, context);
    if (windows < 1 || heldOut <= context) {
      throw Flags.Refuse($"--context {context}: the held-out text has {heldOut} bytes");
    }
    if (batch > windows) throw Flags.Refuse($"--batch {batch}: the training text has {windows} windows");
    if (Size("width") % Size("heads") != 0) {
      throw Flags.Refuse($"--heads {Size("heads")}: does not divide the width {Size("width")}");
    }
  }

  Module MakeModel() {
    var model = Module.Transformer(trainer.Device, new TransformerOptions {
      Vocabulary = Size("vocabulary"), Positions = context, Layers = Size("layers"), Width = Size("width"),
      Heads = Size("heads")});
    string kind = recomputed[flags.Text("--recompute")];
    if (kind != null) model.SetRecomputeMatching(kind: kind);
    return model;
  }

  /// <summary>
  /// Adds the gradients of one batch, which is a share of the step's; returns its share of the loss.
  /// </summary>
  double TrainBatch(Windows windows, double share) {
    Tensor loss;
    using (Ops.Autocast(trainer.Dtype)) loss = windows.Loss();
    double value = share * loss.Item();
    trainer.Backward(loss, share);
    return value;
  }

  double TrainStep(Windows windows) {
    long accumulate = flags.Whole("--accumulate");
    double loss = 0;
    using (accumulate > 1 ? trainer.Ranks.NoSync() : null) {
      for (long i = 1; i < accumulate; ++i) loss += TrainBatch(windows, 1.0 / accumulate);
    }
    return loss + TrainBatch(windows, 1.0 / accumulate);
  }

  double ValidationLoss(Windows windows) {
    double sum = 0;
    long count = 0;
    for (long i = 0; i < Math.Min(ValidationBatches, windows.Sampler.BatchesPerEpoch()); ++i) {
      using (Scope.Begin()) {
        double loss = windows.Loss().Item();
        long tokens = windows.Batches.Tensor(1).Numel;
        sum += loss * tokens;
        count += tokens;
      }
    }
    return sum / count;
  }

  /// <summary>The text depends on the weights and the seed alone.</summary>
  void Write() {
    trainer.Model.IsTraining = false;
    var begin = Tensor.From(trainer.Device, new long[] {'\n'}, 1, 1);
    var made = trainer.Model.Generate(begin, new GenerateOptions {
      NewTokens = flags.Whole("--generate"), Context = context,
      TopK = flags.Has("--top-k") ? flags.Whole("--top-k") : 0, TopP = flags.Real("--top-p"), Temperature = flags.Real("--temperature"), Seed = (ulong)flags.Whole("--seed")});
    var bytes = made.Slice(1, 1, made.Shape[1]).Contiguous().ToArray<byte>();
    Console.WriteLine("text:\n" + Encoding.UTF8.GetString(bytes));
  }

  void Run() {
    var text = Read();
    int cut = text.Length - text.Length / 10;
    CheckSizes(cut, text.Length - cut);
    var ranks = trainer.Ranks;
    // Training takes full batches, so that all processes have as many steps; validation takes all windows.
    var training = new Windows(trainer, Tokens(text.Take(cut)), context, new SamplerOptions {
      BatchSize = batch / ranks.Size, Seed = (ulong)flags.Whole("--seed"), DropLast = true, Rank = ranks.Rank,
      WorldSize = ranks.Size});
    var heldOut = new Windows(trainer, Tokens(text.Skip(cut)), context,
                              new SamplerOptions {BatchSize = batch, Shuffle = false, DropLast = false});
    long accumulate = flags.Whole("--accumulate");
    long total = trainer.CountSteps(training.Sampler.BatchesPerEpoch() / accumulate);
    trainer.MaxGradNorm = 1;
    trainer.Begin(MakeModel(), "transformer_block", training.Sampler, total, total / WarmupShare);
    trainer.Run(accumulate * batch * context, "bytes", () => TrainStep(training));
    trainer.Finish(() => {
      Console.WriteLine(FormattableString.Invariant($"validation loss {ValidationLoss(heldOut):F6}"));
      if (flags.Whole("--generate") > 0) Write();
    });
  }

  static void Main(string[] arguments) {
    var flags = Trainer.MakeFlags("Trains a GPT on the bytes of a text, and lets it write.");
    flags.AddText("--text", TextPath, "the text; its last tenth is held out");
    flags.AddChoice("--preset", new[] {"tiny", "small", "gpt2"}, "sizes of the model");
    foreach (var name in sizes) {
      flags.AddWhole("--" + name, name == "vocabulary" ? 256 : 1, null, "instead of the preset's");
    }
    flags.AddWhole("--epochs", 1, "1", "passes over the training text");
    flags.AddWhole("--batch", 1, "16", "windows of text per batch");
    flags.AddWhole("--accumulate", 1, "1", "batches per step");
    flags.AddChoice("--recompute", new[] {"none", "full", "selective"}, "less memory for more time");
    flags.AddWhole("--generate", 0, "200", "bytes of text to write at the end");
    flags.AddReal("--temperature", "0.8", "of the written text; 0: the most probable byte");
    flags.AddWhole("--top-k", 1, null, "draw from this number of the most probable bytes");
    flags.AddReal("--top-p", "1", "draw from the most probable bytes that reach this");
    flags.Parse(arguments);
    new TrainGpt(flags).Run();
  }
}
