namespace Halftone {

/// <summary>
/// A key-value store of the program, such as one over its own connections; Store.FromObject makes a store of it. Any
/// thread calls the methods, several at once. Keys are text, values are bytes.
/// </summary>
public interface IStoreFunctions {
  /// <summary>Sets a key's value.</summary>
  void Set(string key, byte[] value);

  /// <summary>
  /// Waits until the key exists, at most so long, and returns its value. Null, or a TimeoutException, says that there
  /// is none yet.
  /// </summary>
  byte[] Get(string key, double timeoutSeconds);

  /// <summary>Adds to a counter, a decimal number as text, and returns the sum; an absent key counts as 0.</summary>
  long Add(string key, long amount);

  /// <summary>
  /// Replaces the value if it equals the expected one, in one step, and returns whether it did. Null is an absent
  /// value, on either side.
  /// </summary>
  bool CompareSet(string key, byte[] expected, byte[] desired);

  /// <summary>Removes a key and returns whether it existed.</summary>
  bool Remove(string key);
}

/// <summary>A store of the program's own functions.</summary>
public sealed partial class Store {
  /// <summary>Makes a store of an object's methods, which stay in use until the store is freed.</summary>
  /// <param name="context">in which the store is.</param>
  /// <param name="functions">of the store.</param>
  /// <remarks>C: htone_store_create_callback</remarks>
  public static Store FromObject(Context context, IStoreFunctions functions) {
    Packer.Required(functions, nameof(functions));
    Callback set = call => functions.Set(call.Text(), call.OptionalBytes());
    Callback get = call => call.Give(functions.Get(call.Text(), call.Real()));
    Callback add = call => call.Give(functions.Add(call.Text(), call.Integer()));
    Callback compareSet =
        call => call.Give(functions.CompareSet(call.Text(), call.OptionalBytes(), call.OptionalBytes()) ? 1L : 0L);
    Callback remove = call => call.Give(functions.Remove(call.Text()) ? 1L : 0L);
    var made = NativePINVOKE.store_of_functions(
        Required(context, nameof(context)), CallbackCall.Handle(set), CallbackCall.Handle(get),
        CallbackCall.Handle(add), CallbackCall.Handle(compareSet), CallbackCall.Handle(remove));
    Failure.Check();
    return Own(made);
  }
}

}
