package org.halftone;

import java.lang.ref.Reference;
import java.util.Objects;
import java.util.function.LongConsumer;

/** Makes a {@link Store} of the program's own functions. */
abstract class StoreOfObject extends NativeObject {
  StoreOfObject(long handle, LongConsumer release) {
    super(handle, release);
  }

  /**
   * Makes a store of an object's methods.
   *
   * <p>C: htone_store_create_callback
   *
   * @param context in which the store is.
   * @param functions of the store, which stay in use until it is freed.
   * @return the store.
   */
  public static Store fromObject(Context context, StoreFunctions functions) {
    Objects.requireNonNull(functions, "functions");
    Callback set = call -> functions.set(call.text(), call.optionalBytes());
    Callback get = call -> call.give(functions.get(call.text(), call.real()));
    Callback add = call -> call.give(functions.add(call.text(), call.integer()));
    Callback compareSet =
        call -> call.give(functions.compareSet(call.text(), call.optionalBytes(), call.optionalBytes()) ? 1L : 0L);
    Callback remove = call -> call.give(functions.remove(call.text()) ? 1L : 0L);
    long made = NativeJNI.store_of_functions(handle(context), set, get, add, compareSet, remove);
    Reference.reachabilityFence(context);
    return Store.own(made);
  }
}
