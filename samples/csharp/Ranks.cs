using System.Collections.Generic;
using Halftone;

/// <summary>
/// The processes that train one network together. A run without --sharding is one process, and has no group.
/// </summary>
sealed class Ranks {
  /// <summary>Processes that have the parts of one network, under hybrid sharding.</summary>
  const int HybridRanks = 2;
  static readonly Dictionary<string, Sharding> shardings = new Dictionary<string, Sharding> {
    {"optimizer", Sharding.Optimizer}, {"gradients", Sharding.Gradients}, {"full", Sharding.Full},
    {"hybrid", Sharding.Full}};
  static readonly Dictionary<string, Offload> offloads = new Dictionary<string, Offload> {
    {"none", Offload.None}, {"memory", Offload.Host}, {"file", Offload.File}};

  internal readonly int Rank, Size;
  internal readonly Group Group;
  readonly Device device;
  readonly Flags flags;
  readonly string kind;
  DistributedDataParallel replica;
  Fsdp shards;

  internal Ranks(Device device, Flags flags) {
    this.device = device;
    this.flags = flags;
    kind = flags.Text("--sharding");
    var launch = Ops.LaunchRead();
    bool isAlone = kind == "none";
    if (isAlone && launch.Size > 1) {
      throw Flags.Refuse($"--sharding: {launch.Launcher} started {launch.Size} processes, which need ddp or another " +
                         "kind");
    }
    Rank = isAlone ? 0 : launch.Rank;
    Size = isAlone ? 1 : launch.Size;
    if (kind == "hybrid" && (Size % HybridRanks != 0 || Size == HybridRanks)) {
      throw Flags.Refuse($"--sharding hybrid: needs an even number of processes, at least 4, not {Size}");
    }
    Group = isAlone ? null : Group.Launched(device);
  }

  /// <summary>
  /// Gives every process the first one's weights, or its part of them. From now on gradients are averaged.
  /// </summary>
  internal void Share(Module model, string unitKind, Dtype dtype) {
    if (Group == null) return;
    if (kind == "ddp") {
      replica = new DistributedDataParallel(model, Group);
      return;
    }
    bool isHybrid = kind == "hybrid";
    // Neighbours are on one machine, where messages cost least.
    var mine = isHybrid ? Group.Split(Rank / HybridRanks, Rank) : Group;
    var others = isHybrid ? Group.Split(Rank % HybridRanks, Rank) : null;
    shards = new Fsdp(model, mine, others, new FsdpOptions {
      Sharding = shardings[kind], UnitKind = unitKind, UnitElements = 1, WeightDtype = dtype,
      Offload = offloads[flags.Text("--offload")], OffloadPath = flags.Text("--offload-path")});
  }

  internal bool SharesState => shards != null;

  /// <summary>
  /// Gradients stay in this process until the scope ends: those of all but the last backward of a step.
  /// </summary>
  internal Scope NoSync() { return shards != null ? shards.NoSync() : replica?.NoSync(); }

  /// <summary>Every process has all weights until the scope ends, after the last step.</summary>
  internal Scope Gathered() {
    replica?.Dispose();
    return shards?.Gather();
  }

  /// <summary>The mean of the losses, and whether any process was told to stop.</summary>
  internal (double Loss, bool Stops) Agree(double loss, bool stops) {
    if (Group == null) return (loss, stops);
    using (var sums = Tensor.From(device, new[] {loss, stops ? 1 : 0})) {
      Group.AllReduce(ReduceOp.Sum, sums, sums);
      var all = sums.ToArray<double>();
      return (all[0] / Size, all[1] > 0);
    }
  }
}
