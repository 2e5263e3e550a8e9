using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Halftone;

/// <summary>
/// Trains a GPT on the bytes of a text in BF16 or by a low-precision recipe, and prints its loss on the last tenth of the text.
/// It is samples/c/train_gpt.c with its smallest model: the same number of steps gives the same loss. The processes of
/// halftone-run share each batch, the weights and the optimizer's state.
/// </summary>
sealed class TrainGpt {
  const int ContextSize = 64, Batch = 16;
  const int ValidationBatches = 100;  // more would change the validation loss little
  const int WarmupShare = 20;  // the learning rate climbs in the first twentieth: AdamW's first moments are noise
  const int SaveEvery = 500;
  static readonly Dictionary<string, RecipeKind> Recipes = new Dictionary<string, RecipeKind> {
      {"fp8-delayed", RecipeKind.Delayed}, {"fp8-current", RecipeKind.Current}, {"fp8-block", RecipeKind.Block},
      {"mxfp8", RecipeKind.MXFP8}, {"nvfp4", RecipeKind.NVFP4}};

  /// <summary>
  /// Batches of windows over a text, which do not overlap: tokens, and the tokens that follow them.
  /// </summary>
  sealed class Windows {
    internal readonly Sampler Sampler;
    internal readonly Batches Batches;

    internal Windows(Tensor text, SamplerOptions options) {
      options.Count = Ops.WindowCount(text.Numel, ContextSize, ContextSize);
      Sampler = new Sampler(options);
      Batches = Batches.Windows(Sampler, text, ContextSize, ContextSize);
    }

    /// <summary>The mean loss of the next batch.</summary>
    internal Tensor NextLoss(Module model) {
      Batches.Advance();
      var logits = model.Forward(Batches.Tensor(0));
      return Ops.CrossEntropy(logits.Reshape(-1, logits.Shape.Last()), Batches.Tensor(1).Reshape(-1));
    }
  }

  readonly Context context = new Context(new ContextOptions {Seed = 0});
  readonly Device device;
  readonly Group group;
  readonly bool isFirst;  // of the processes
  readonly Windows windows, heldOut;
  readonly long steps;
  readonly AutocastPolicy policy;
  readonly Module model;
  readonly Fsdp shared;
  readonly Optimizer optimizer;

  TrainGpt(byte[] text, long limit, string precision) {
    var launch = Ops.LaunchRead();
    int cut = text.Length - text.Length / 10;
    device = new Device("cpu", context);
    group = launch.Size > 1 ? Group.Launched(device) : null;
    isFirst = launch.Rank == 0;
    // Training takes full batches in a random order, so that all processes have as many steps.
    windows = new Windows(Tokens(text.Take(cut)), new SamplerOptions {
      BatchSize = Batch / launch.Size, DropLast = true, Rank = launch.Rank, WorldSize = launch.Size});
    heldOut = new Windows(Tokens(text.Skip(cut)), new SamplerOptions {
      BatchSize = Batch, Shuffle = false, DropLast = false});
    steps = Math.Min(limit, windows.Sampler.BatchesPerEpoch());
    policy = new AutocastPolicy(Dtype.BF16);
    model = Module.Transformer(device, new TransformerOptions {
      Vocabulary = 256, Positions = ContextSize, Layers = 2, Width = 64, Heads = 4});
    if (precision != "bf16") MultiplyBy(new Recipe(Recipes[precision]));
    shared = group == null ? null : new Fsdp(model, group, null, new FsdpOptions {
      UnitKind = "transformer_block", UnitElements = 1, WeightDtype = Dtype.BF16});
    optimizer = Optimizer.Adamw(model, new AdamwOptions {Lr = 1e-3, ComputeDtype = Dtype.BF16});
    optimizer.SetSchedule(MakeSchedule(steps));
  }

  Tensor Tokens(IEnumerable<byte> text) { return Tensor.From(device, text.ToArray()).Cast(Dtype.I32); }

  /// <summary>The layers get the recipe, too: they keep the magnitudes from which fp8-delayed takes its scales.</summary>
  void MultiplyBy(Recipe recipe) {
    policy.SetRecipe(recipe);
    model.SetRecipeMatching(null, "linear", recipe);
  }

  static Schedule MakeSchedule(long steps) {
    long warmup = steps / WarmupShare;
    var cosine = Schedule.Cosine(steps - warmup, 0);
    return warmup > 0 ? Schedule.Warmup(warmup, 1.0 / (warmup + 1), cosine) : cosine;
  }

  Checkpoint OpenCheckpoint(string folder) {
    var checkpoint = group == null ? new Checkpoint(context, folder) : Checkpoint.Shared(context, folder, group);
    checkpoint.AddModule("model", model);
    checkpoint.AddOptimizer("optimizer", optimizer);
    checkpoint.AddSampler("sampler", windows.Sampler);
    return checkpoint;
  }

  /// <summary>The checkpoint may be null.</summary>
  void Train(Checkpoint checkpoint) {
    long done = checkpoint == null ? 0 : Math.Max(0, checkpoint.Load());  // -1: there is none yet
    for (long step = done + 1; step <= steps; ++step) {
      using (Scope.Begin()) {
        double loss = TrainStep();
        if (isFirst && (step % 100 == 0 || step == steps)) Print($"step {step} of {steps}: loss {loss:F4}");
      }
      if (checkpoint != null && (step % SaveEvery == 0 || step == steps)) checkpoint.Save(step);
    }
  }

  double TrainStep() {
    Tensor loss;
    optimizer.ZeroGrad();
    using (Ops.Autocast(policy)) loss = windows.NextLoss(model);
    loss.Backward();
    optimizer.ClipGradNorm(1);
    optimizer.Step();
    return loss.Item();
  }

  double ValidationLoss() {
    double sum = 0;
    long count = 0;
    for (long i = 0; i < Math.Min(ValidationBatches, heldOut.Sampler.BatchesPerEpoch()); ++i) {
      using (Scope.Begin()) {
        double loss = heldOut.NextLoss(model).Item();
        long tokens = heldOut.Batches.Tensor(1).Numel;
        sum += loss * tokens;
        count += tokens;
      }
    }
    return sum / count;
  }

  /// <summary>Every process has all weights meanwhile, and the first one prints the result.</summary>
  void Finish() {
    using (shared?.Gather())
    using (Ops.NoGrad())
    using (Ops.Autocast(policy)) {
      if (!isFirst) return;
      Print($"validation loss {ValidationLoss():F6}");
    }
  }

  static void Print(FormattableString text) { Console.WriteLine(FormattableString.Invariant(text)); }

  static Dictionary<string, string> Parse(string[] arguments) {
    var flags = new Dictionary<string, string> {
      {"--text", "build/data/bible-kjv.txt"},  // samples/data/make_text writes it
      {"--steps", "1000000000"}, {"--checkpoint", ""}, {"--precision", "bf16"}};
    for (int i = 0; i < arguments.Length; i += 2) {
      if (i + 1 == arguments.Length || !flags.ContainsKey(arguments[i])) {
        Console.Error.WriteLine("usage: TrainGpt [FLAG VALUE]..., with the flags and usual values " +
                                string.Join(", ", flags));
        Environment.Exit(2);
      }
      flags[arguments[i]] = arguments[i + 1];
    }
    string precision = flags["--precision"];
    if (precision != "bf16" && !Recipes.ContainsKey(precision)) {
      Console.Error.WriteLine($"--precision {precision}: expected bf16 or one of {string.Join(", ", Recipes.Keys)}");
      Environment.Exit(2);
    }
    return flags;
  }

  static void Main(string[] arguments) {
    var flags = Parse(arguments);
    var run = new TrainGpt(File.ReadAllBytes(flags["--text"]), long.Parse(flags["--steps"]), flags["--precision"]);
    string folder = flags["--checkpoint"];
    run.Train(folder == "" ? null : run.OpenCheckpoint(folder));
    run.Finish();
  }
}
