/**
 * Mixed-precision training of neural networks.
 *
 * <pre>{@code
 * import org.halftone.*;
 *
 * Block model = Block.sequential(Block.linear(device, 784, 128), Block.relu(), Block.linear(device, 128, 10));
 * Optimizer optimizer = Optimizer.adamw(model, new AdamwOptions().lr(1e-3).computeDtype(Dtype.BF16));
 * for (Tensor[] batch : new DataLoader(64, images, labels)) {
 *   try (Scope step = Scope.begin()) {
 *     optimizer.zeroGrad();
 *     Tensor loss;
 *     try (Scope cast = Halftone.autocast(Dtype.BF16)) {
 *       loss = model.forward(batch[0]).crossEntropy(batch[1]);
 *     }
 *     loss.backward();
 *     optimizer.step();
 *   }
 * }
 * }</pre>
 *
 * <p>{@link org.halftone.Tensor} holds numbers, {@link org.halftone.Block} is a layer or a composition of layers,
 * {@link org.halftone.Optimizer} updates the weights, and {@link org.halftone.Halftone} has the functions that belong
 * to no object. Most functions of a tensor are its methods, too.
 *
 * <p>An object is closed by try-with-resources, at the end of the {@link org.halftone.Scope} in which it was made, or
 * when it is collected. A scope belongs to the thread that began it, or to the {@link org.halftone.ScopeStack} of a
 * task that goes on in other threads, as a virtual thread does. A failed call is a
 * {@link org.halftone.HalftoneException}, whose message names the function, the argument, and what was expected.
 *
 * <p>{@link Thread#interrupt} does not end a call of the library: the call runs to its end, and the thread stays
 * interrupted. A hook that the call runs may throw {@link InterruptedException}, which ends the call.
 */
package org.halftone;
