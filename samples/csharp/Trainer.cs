using System;
using System.Collections.Generic;
using System.Diagnostics;
using Halftone;

/// <summary>The parts of a training run that do not depend on the model and its data.</summary>
sealed class Trainer {
  static readonly Dictionary<string, Dtype> dtypes =
      new Dictionary<string, Dtype> {{"fp32", Dtype.F32}, {"bf16", Dtype.BF16}, {"fp16", Dtype.F16}};

  internal readonly Flags Flags;
  internal readonly Dtype Dtype;
  internal readonly Context Context;
  internal readonly Device Device;
  internal readonly Ranks Ranks;
  internal double MaxGradNorm = 0;
  internal Module Model;
  Optimizer optimizer;
  GradScaler scaler;
  Checkpoint checkpoint;
  TrainLog log;
  long stepsDone, totalSteps;
  volatile bool isTold;  // by a signal
  bool isStopping;       // all processes have agreed

  internal Trainer(Flags flags) {
    Flags = flags;
    if (flags.Has("--resume") && !flags.Has("--checkpoint")) {
      throw Flags.Refuse("--resume: needs --checkpoint, the folder to continue from");
    }
    Dtype = dtypes[flags.Text("--precision")];
    Context = new Context(new ContextOptions {
      Seed = (ulong)flags.Whole("--seed"), NumThreads = (int)flags.Whole("--threads")});
    Device = new Device(flags.Text("--device"), Context);
    Ranks = new Ranks(Device, flags);
    if (flags.Whole("--batch") % Ranks.Size != 0) {
      throw Flags.Refuse($"--batch {flags.Text("--batch")}: is no multiple of the {Ranks.Size} processes");
    }
  }

  internal static Flags MakeFlags(string summary) {
    var flags = new Flags(summary);
    flags.AddChoice("--precision", new[] {"bf16", "fp32", "fp16"}, "of weights and activations in products");
    flags.AddText("--device", "cpu", "where to train");
    flags.AddWhole("--steps", 1, null, "stop after this number of steps");
    flags.AddReal("--lr", "1e-3", "initial learning rate");
    flags.AddChoice("--schedule", new[] {"cosine", "constant"}, "of the learning rate");
    flags.AddWhole("--seed", 0, "0", "of the initial weights and the order of the data");
    flags.AddWhole("--threads", 0, "0", "that compute; 0: as many as the machine allows");
    flags.AddChoice("--sharding", new[] {"none", "ddp", "optimizer", "gradients", "full", "hybrid"},
                    "what the processes of halftone-run share");
    flags.AddChoice("--offload", new[] {"none", "memory", "file"}, "where shared state is while it is not used");
    flags.AddText("--offload-path", ".", "the folder of the file of --offload");
    flags.AddText("--log", null, "write one JSON object per step to this file");
    flags.AddText("--checkpoint", null, "save checkpoints in this folder, the last one when the run ends");
    flags.AddWhole("--checkpoint-every", 1, "500", "steps between two checkpoints");
    flags.AddSwitch("--resume", "continue from the newest checkpoint, if there is one");
    return flags;
  }

  /// <summary>All steps of the run, of so many batches an epoch.</summary>
  internal long CountSteps(long batches) {
    long total = Flags.Whole("--epochs") * Math.Max(1, batches);
    return Flags.Has("--steps") ? Math.Min(total, Flags.Whole("--steps")) : total;
  }

  /// <summary>Makes optimizer and scaler, and loads a checkpoint to resume from.</summary>
  internal void Begin(Module model, string unitKind, Sampler sampler, long totalSteps, long warmup) {
    Model = model;
    this.totalSteps = totalSteps;
    Ranks.Share(model, unitKind, Dtype);
    optimizer = Optimizer.Adamw(model, new AdamwOptions {Lr = Flags.Real("--lr"), ComputeDtype = Dtype});
    optimizer.SetSchedule(MakeSchedule(warmup));
    // In fp16 the loss is scaled, so that small gradients do not underflow.
    scaler = new GradScaler(Device, new GradScalerOptions {Enabled = Dtype == Dtype.F16});
    OpenCheckpoint(sampler);
    log = new TrainLog(Ranks.Rank == 0 ? Flags.Text("--log") : null, stepsDone);
    Say($"training in {Flags.Text("--precision")} on {Flags.Text("--device")}, processes: {Ranks.Size}, threads: " +
        $"{Context.NumThreads}, {totalSteps} steps");
  }

  Schedule MakeSchedule(long warmup) {
    bool isCosine = Flags.Text("--schedule") == "cosine";
    var schedule = isCosine ? Schedule.Cosine(totalSteps - warmup, 0) : Schedule.Constant();
    return warmup > 0 ? Schedule.Warmup(warmup, 1.0 / (warmup + 1), schedule) : schedule;
  }

  void OpenCheckpoint(Sampler sampler) {
    string folder = Flags.Text("--checkpoint");
    if (folder == null) return;
    Ops.LogSetCallback(line => Console.Error.WriteLine("warning: " + line));
    bool isShared = Ranks.Group != null;
    checkpoint = isShared ? Checkpoint.Shared(Context, folder, Ranks.Group) : new Checkpoint(Context, folder);
    checkpoint.AddModule("model", Model);
    checkpoint.AddOptimizer("optimizer", optimizer);
    checkpoint.AddGradScaler("scaler", scaler);
    checkpoint.AddSampler("sampler", sampler);
    bool resumes = Flags.Has("--resume");
    long step = resumes ? checkpoint.Load() : checkpoint.Latest();
    if (step >= 0 && !resumes) {
      throw Flags.Refuse($"--checkpoint {folder}: holds a run of {step} steps; go on from there with --resume, or " +
                         "take another folder");
    }
    if (step < 0) return;
    Say($"going on after step {step}");
    stepsDone = step;
  }

  /// <summary>
  /// Runs the steps, each of so many items on all processes together: `step` adds the gradients and returns the loss.
  /// An interrupt (Ctrl+C) ends them after a whole step.
  /// </summary>
  internal void Run(long items, string unit, Func<double> step) {
    Console.CancelKeyPress += (sender, signal) => {
      signal.Cancel = true;
      isTold = true;
    };
    var watch = Stopwatch.StartNew();
    for (long first = stepsDone; stepsDone < totalSteps && !isStopping;) {
      double loss = RunStep(items, step);
      if (stepsDone % 100 != 0 && stepsDone != totalSteps) continue;
      double rate = items * (stepsDone - first) / watch.Elapsed.TotalSeconds;
      Say(FormattableString.Invariant($"step {stepsDone} of {totalSteps}: loss {loss:F4}, {rate:F0} {unit}/s"));
    }
    if (!isStopping) return;
    Say($"stopped by a signal after step {stepsDone} of {totalSteps}");
    Environment.Exit(128 + 2);
  }

  double RunStep(long items, Func<double> step) {
    var row = new TrainLog.Row {Step = stepsDone + 1};
    var watch = Stopwatch.StartNew();
    optimizer.ZeroGrad();
    using (Scope.Begin()) {
      row.Loss = step();
      Update(row);
    }
    (row.Loss, isStopping) = Ranks.Agree(row.Loss, isTold);
    row.ItemsPerSecond = items / watch.Elapsed.TotalSeconds;
    ++stepsDone;
    log.Write(row);
    bool isLast = stepsDone == totalSteps || isStopping;
    if (isLast || stepsDone % Flags.Whole("--checkpoint-every") == 0) checkpoint?.Save(stepsDone);
    return row.Loss;
  }

  /// <summary>Adds the gradients of the loss times a share.</summary>
  internal void Backward(Tensor loss, double share) { scaler.Scale(share == 1 ? loss : loss * share).Backward(); }

  void Update(TrainLog.Row row) {
    // The first process alone has a log, but the norm of shared gradients needs all of them.
    bool isLogged = log.IsOpen || Ranks.SharesState;
    row.Lr = optimizer.Lr;
    row.LossScale = scaler.CurrentScale();
    if (isLogged || MaxGradNorm > 0) scaler.Unscale(optimizer);
    if (isLogged) row.GradNorm = optimizer.GradNorm();
    if (MaxGradNorm > 0) optimizer.ClipGradNorm(MaxGradNorm);
    scaler.Step(optimizer);
    row.Outcome = optimizer.Outcome().Skipped ? "skipped" : "stepped";
    scaler.Update();
  }

  /// <summary>Every process has all weights meanwhile; the first one prints results.</summary>
  internal void Finish(Action results) {
    using (Ranks.Gathered())
    using (Ops.NoGrad())
    using (Ops.Autocast(Dtype)) {
      if (Ranks.Rank == 0) results();
    }
  }

  void Say(string text) {
    if (Ranks.Rank == 0) Console.WriteLine(text);
  }
}
