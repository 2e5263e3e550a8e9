package org.halftone;

/**
 * The part of one sample in a tensor of {@link Batches}.
 *
 * @param dtype of the elements.
 * @param shape of the part; a single number has none.
 */
public record Row(Dtype dtype, long... shape) {}
