using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Threading;
using Halftone;

/// <summary>Batches and stores whose content comes from functions of C#, and what these throw.</summary>
sealed class SourcesTest : Callbacks {
  static readonly Row[] rowTypes = {new Row(Dtype.F32, 2), new Row(Dtype.I64)};

  static Sampler MakeSampler() { return new Sampler(new SamplerOptions {Count = 4, BatchSize = 2, Shuffle = false}); }

  static void BatchesAreFilledByAFunction() {
    var batches = Batches.FromFunction(device, MakeSampler(), (indices, rows) => {
      rows[0].Write(indices.SelectMany(index => new[] {(float)index, -index}).ToArray());
      rows[1].Write(indices.Select(index => 10 * index).ToArray());
    }, rowTypes);
    batches.Advance();
    batches.Advance();
    Same(batches.Tensor(0), 2, -2, 3, -3);
    Suite.Check(batches.Tensor(1).ToArray<long>().SequenceEqual(new long[] {20, 30}), "labels");
  }

  static void BatchesPassExceptionsOnAndStayAtTheirPlace() {
    var sampler = MakeSampler();
    Arrives(() => Batches.FromFunction(device, sampler, (indices, rows) => Wall<int>(), rowTypes).Advance());
    Suite.Equal(sampler.Position().Batch, 0);
    BatchRows[] kept = null;
    Batches.FromFunction(device, MakeSampler(), (indices, rows) => kept = rows, rowTypes).Advance();
    foreach (Action use in new Action[] {() => kept[0].AsSpan<float>(), () => kept[1].Write(new long[2]),
                                         () => kept[0].Address.ToString()}) {
      try {
        use();
      } catch (ObjectDisposedException) {
        continue;
      }
      throw new Exception("memory of a batch was used after the call");
    }
    var wrong = Batches.FromFunction(device, sampler, (indices, rows) => rows[0].Write(new float[3]), rowTypes);
    try {
      wrong.Advance();
    } catch (ArgumentException error) {
      Suite.Check(error.Message.Contains("12 bytes for rows of 16 bytes"), error.Message);
      return;
    }
    throw new Exception("nothing was thrown");
  }

  /// <summary>A store of the program's.</summary>
  class Dictionary : IStoreFunctions {
    readonly Dictionary<string, byte[]> values = new Dictionary<string, byte[]>();

    byte[] Find(string key) { return values.TryGetValue(key, out var value) ? value : null; }

    public virtual void Set(string key, byte[] value) { lock (values) values[key] = value; }

    public byte[] Get(string key, double timeoutSeconds) {
      for (var end = DateTime.Now.AddSeconds(timeoutSeconds); DateTime.Now < end; Thread.Sleep(1)) {
        lock (values) {
          if (Find(key) != null) return Find(key);
        }
      }
      throw new TimeoutException(key);
    }

    public long Add(string key, long amount) {
      lock (values) {
        long sum = amount + (Find(key) == null ? 0 : long.Parse(Encoding.ASCII.GetString(Find(key))));
        values[key] = Encoding.ASCII.GetBytes(sum.ToString());
        return sum;
      }
    }

    public bool CompareSet(string key, byte[] expected, byte[] desired) {
      lock (values) {
        var found = Find(key);
        if (found == null ? expected != null : expected == null || !found.SequenceEqual(expected)) return false;
        values.Remove(key);
        if (desired != null) values[key] = desired;
        return true;
      }
    }

    public bool Remove(string key) { lock (values) return values.Remove(key); }
  }

  sealed class FailingStore : Dictionary {
    public override void Set(string key, byte[] value) { Wall<int>(); }
  }

  static void StoresAreObjectsOfTheProgram() {
    using (var context = new Context())
    using (var store = Store.FromObject(context, new Dictionary()))
    using (var failing = Store.FromObject(context, new FailingStore())) {
      var bytes = Enumerable.Range(0, 1000).Select(value => (byte)value).ToArray();
      store.Set("key", bytes);
      Suite.Check(store.Get("key", 1).SequenceEqual(bytes), "bytes");
      store.Set("empty", new byte[0]);
      Suite.Equal(store.Get("empty", 1).Length, 0);
      store.Add("sum", 3);
      Suite.Equal(store.Add("sum", 4), 7);
      Suite.Raises(Status.Timeout, "", () => store.Get("absent", 0.01));
      Arrives(() => failing.Set("key", bytes));
    }
  }

  static void AStoreConnectsRanks() {
    var context = new Context();
    var store = Store.FromObject(context, new Dictionary());
    var shared = new Device("cpu", context);
    var sums = new float[2];
    var threads = Enumerable.Range(0, 2).Select(rank => new Thread(() => {
      using (var group = new Group(shared, "threads", store, new GroupOptions {Rank = rank, Size = 2}))
      using (var x = Tensor.From(shared, new[] {rank + 1f})) {
        group.AllReduce(ReduceOp.Sum, x, x);
        sums[rank] = x.ToArray<float>()[0];
      }
    })).ToArray();
    foreach (var thread in threads) thread.Start();
    foreach (var thread in threads) thread.Join();
    Suite.Check(sums.SequenceEqual(new[] {3f, 3f}), string.Join(" ", sums));
  }

  static int Main() {
    var suite = new Suite();
    suite.Test("BatchesAreFilledByAFunction", BatchesAreFilledByAFunction);
    suite.Test("BatchesPassExceptionsOn", BatchesPassExceptionsOnAndStayAtTheirPlace);
    suite.Test("StoresAreObjectsOfTheProgram", StoresAreObjectsOfTheProgram);
    suite.Test("AStoreConnectsRanks", AStoreConnectsRanks);
    return suite.Finish();
  }
}
