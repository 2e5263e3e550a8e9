package org.halftone;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * A module with a forward of the program's own:
 *
 * <pre>{@code
 * final class Residual extends CustomModule {
 *   private final Module inner;
 *
 *   Residual(Device device, long width) {
 *     inner = child("inner", Module.linear(device, width, width));
 *   }
 *
 *   protected Tensor forward(Tensor x) {
 *     return x.add(inner.forward(x));
 *   }
 * }
 *
 * Module block = new Residual(device, 64).module();
 * }</pre>
 *
 * <p>The module keeps this object and its parts. So that both can be collected, this object must not keep the module.
 */
public abstract class CustomModule {
  private final Map<String, Consumer<Module>> parts = new LinkedHashMap<>();
  private final CustomOptions options;

  /** A module of one input and one output. */
  protected CustomModule() {
    this(new CustomOptions());
  }

  /** A module of so many inputs and outputs; it overrides {@link #forward(Tensor[])}. */
  protected CustomModule(CustomOptions options) {
    this.options = options;
  }

  /** Makes a module a part of this one; returns it. */
  protected final Module child(String name, Module child) {
    Objects.requireNonNull(child, name);
    add(name, module -> module.addChild(name, child));
    return child;
  }

  /** Makes a parameter a part of this module, which optimizers then see; returns it. */
  protected final Parameter parameter(String name, Parameter parameter) {
    Objects.requireNonNull(parameter, name);
    add(name, module -> module.addParameter(name, parameter));
    return parameter;
  }

  /** Makes a tensor a part of the module's state, which no optimizer updates; returns it. */
  protected final Tensor buffer(String name, Tensor tensor) {
    Objects.requireNonNull(tensor, name);
    add(name, module -> module.addBuffer(name, tensor));
    return tensor;
  }

  private void add(String name, Consumer<Module> part) {
    if (parts.putIfAbsent(name, part) != null) throw new IllegalArgumentException("there is a part " + name);
  }

  /**
   * Computes the output of a module of one input and one output.
   *
   * @param input of the module.
   * @return the output.
   */
  protected Tensor forward(Tensor input) throws Exception {
    throw new UnsupportedOperationException(getClass().getName() + " overrides no forward");
  }

  /**
   * Computes the outputs. The modes of the thread are those of the caller.
   *
   * @param inputs of the module; null is an absent one.
   * @return the outputs.
   */
  protected Tensor[] forward(Tensor[] inputs) throws Exception {
    return new Tensor[] {forward(inputs[0])};
  }

  /** Makes a module of this object and its parts. */
  public final Module module() {
    Module made = Module.custom((self, inputs) -> forward(inputs), options);
    try {
      parts.values().forEach(part -> part.accept(made));
    } catch (RuntimeException error) {
      made.close();
      throw error;
    }
    return made;
  }
}
