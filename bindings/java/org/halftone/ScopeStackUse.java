package org.halftone;

import java.lang.ref.Reference;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;

/** Runs a program's code with the scopes of a {@link ScopeStack}, and ends these. */
abstract class ScopeStackUse extends NativeObject {
  private final OpenScopes scopes;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  ScopeStackUse(long handle, LongConsumer release) {
    this(handle, release, new OpenScopes());
  }

  private ScopeStackUse(long handle, LongConsumer release, OpenScopes scopes) {
    super(handle, stack -> {
      scopes.end();
      release.accept(stack);
    });
    this.scopes = scopes;
  }

  /**
   * Runs a part of a task with the scopes and modes of this stack in the place of the thread's. Scopes that the part
   * begins and does not end stay open for the task's next part, which may run on another thread:
   *
   * <pre>{@code
   * try (ScopeStack task = new ScopeStack()) {
   *   task.run(() -> Halftone.noGrad());
   *   Tensor logits = task.call(() -> model.forward(images));
   *   send(logits); // may wait, and go on in another thread
   *   task.run(() -> model.forward(more)); // still records no gradients
   * }
   * }</pre>
   *
   * <p>A virtual thread stays on its carrier thread while a part runs, also where the part waits; outside of a part it
   * cannot begin a scope. So waits belong between the parts. Stacks nest. One thread at a time uses a stack.
   *
   * <p>C: htone_scope_stack_enter, htone_scope_stack_leave
   *
   * @param <T> the type of the result
   * @param part of the task; what it throws arrives at the caller as itself, also a checked exception
   * @return the result of the part
   */
  public final <T> T call(Callable<T> part) {
    Objects.requireNonNull(part, "part");
    try {
      return NativeFrame.call(() -> callInside(part));
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Runs a part of a task that has no result, as {@code call} does.
   *
   * @param part of the task
   */
  public final void run(Runnable part) {
    Objects.requireNonNull(part, "part");
    call(() -> {
      part.run();
      return null;
    });
  }

  private <T> T callInside(Callable<T> part) throws Exception {
    long handle = handle();
    OpenScopes outer = OpenScopes.current();
    NativeJNI.ScopeStack_enter(handle);
    try {
      OpenScopes.use(scopes);
      // A part whose handle was checked before close began must not run without the modes.
      if (isClosed.get()) throw new IllegalStateException("ScopeStack is closed");
      return part.call();
    } finally {
      OpenScopes.use(outer);
      NativeJNI.ScopeStack_leave(handle);
    }
  }

  /** Ends the scopes that are open in the stack, and releases it. While a part runs, this is an exception. */
  @Override
  public void close() {
    if (isClosed.getAndSet(true)) return;
    try {
      NativeJNI.require_unused(handle());
    } catch (HalftoneException refused) {
      isClosed.set(refused.status() != Status.STATE);  // else a scope of handles has released the stack
      if (!isClosed.get()) throw refused;
    }
    super.close();
  }
}
