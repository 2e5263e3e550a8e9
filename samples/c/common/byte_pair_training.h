/* Learns the pairs of a vocabulary from a text. */
#ifndef SAMPLES_BYTE_PAIR_TRAINING_H
#define SAMPLES_BYTE_PAIR_TRAINING_H

#include "byte_pairs.h"

/* Fills the vocabulary: again and again the most frequent pair of neighbours becomes a token. Of pairs that are equally
 * frequent, the one with the smaller left token is taken, then the one with the smaller right token. Ends early when no
 * pair is there twice. Prints one line and returns false on failure. */
bool byte_pairs_train(byte_pairs* pairs, const unsigned char* text, size_t size);

#endif
