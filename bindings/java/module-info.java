/** Mixed-precision training of neural networks; {@link org.halftone} has an example. */
module org.halftone {
  exports org.halftone;
}
