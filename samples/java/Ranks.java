import java.util.Map;
import org.halftone.Device;
import org.halftone.DistributedDataParallel;
import org.halftone.Dtype;
import org.halftone.Fsdp;
import org.halftone.FsdpOptions;
import org.halftone.Group;
import org.halftone.Halftone;
import org.halftone.Launch;
import org.halftone.Module;
import org.halftone.Offload;
import org.halftone.ReduceOp;
import org.halftone.Scope;
import org.halftone.Sharding;
import org.halftone.Tensor;

/** The processes that train one network together. A run without --sharding is one process, and has no group. */
final class Ranks {
  /** Processes that have the parts of one network, under hybrid sharding. */
  private static final int HYBRID_RANKS = 2;
  private static final Map<String, Sharding> SHARDINGS = Map.of("optimizer", Sharding.OPTIMIZER, "gradients",
      Sharding.GRADIENTS, "full", Sharding.FULL, "hybrid", Sharding.FULL);
  private static final Map<String, Offload> OFFLOADS =
      Map.of("none", Offload.NONE, "memory", Offload.HOST, "file", Offload.FILE);

  final int rank;
  final int size;
  final Group group;
  private final Device device;
  private final Flags flags;
  private final String kind;
  private DistributedDataParallel replica;
  private Fsdp shards;

  Ranks(Device device, Flags flags) {
    this.device = device;
    this.flags = flags;
    kind = flags.text("--sharding");
    Launch launch = Halftone.launchRead();
    boolean isAlone = kind.equals("none");
    if (isAlone && launch.size > 1) {
      throw Flags.refuse("--sharding: " + launch.launcher + " started " + launch.size
          + " processes, which need ddp or another kind");
    }
    rank = isAlone ? 0 : launch.rank;
    size = isAlone ? 1 : launch.size;
    if (kind.equals("hybrid") && (size % HYBRID_RANKS != 0 || size == HYBRID_RANKS)) {
      throw Flags.refuse("--sharding hybrid: needs an even number of processes, at least 4, not " + size);
    }
    group = isAlone ? null : Group.launched(device);
  }

  /** Gives every process the first one's weights, or its part of them. From now on gradients are averaged. */
  void share(Module model, String unitKind, Dtype dtype) {
    if (group == null) return;
    if (kind.equals("ddp")) {
      replica = new DistributedDataParallel(model, group);
      return;
    }
    boolean isHybrid = kind.equals("hybrid");
    // Neighbours are on one machine, where messages cost least.
    Group mine = isHybrid ? group.split(rank / HYBRID_RANKS, rank) : group;
    Group others = isHybrid ? group.split(rank % HYBRID_RANKS, rank) : null;
    shards = new Fsdp(model, mine, others,
        new FsdpOptions().sharding(SHARDINGS.get(kind)).unitKind(unitKind).unitElements(1).weightDtype(dtype)
            .offload(OFFLOADS.get(flags.text("--offload"))).offloadPath(flags.text("--offload-path")));
  }

  boolean sharesState() {
    return shards != null;
  }

  /** Gradients stay in this process until the scope ends: those of all but the last backward of a step. */
  Scope noSync() {
    if (shards != null) return shards.noSync();
    return replica == null ? null : replica.noSync();
  }

  /** Every process has all weights until the scope ends, after the last step. */
  Scope gathered() {
    if (replica != null) replica.close();
    return shards == null ? null : shards.gather();
  }

  /** The mean of the losses, and whether any process was told to stop, in one message. */
  double[] agree(double loss, boolean stops) {
    double[] sums = {loss, stops ? 1 : 0};
    if (group == null) return sums;
    try (Tensor all = Tensor.of(device, sums)) {
      group.allReduce(ReduceOp.SUM, all, all);
      sums = all.readDoubles();
    }
    return new double[] {sums[0] / size, sums[1]};
  }
}
