// The description of a model that must be equal on all ranks: names, shapes and dtypes of parameters and buffers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/module.h"
#include "parallel/mesh/exchange.h"

namespace halftone::parallel {

// One line for each part: "parameter 0.weight [3, 5] f32".
std::vector<std::string> signature_of(const std::vector<NamedParameter>& parameters,
                                      const std::vector<nn::NamedBuffer>& buffers);

uint64_t hash_of(const std::vector<std::string>& signature) noexcept;

// Compares the signatures of all ranks. Throws COMM, on every rank alike, naming the first rank whose model differs
// from that of rank 0, and the first part in which it does.
void compare_signatures(const Exchange& exchange, const std::vector<std::string>& signature);

// Runs `check`, which throws where this rank's own model cannot be replicated or sharded. If it throws, the other ranks
// learn it in place of their comparison of signatures, as COMM that names the rank and the difference, and this rank
// passes its own error on. REQUIRES: the ranks that pass call compare_signatures() next, with more lines than `parts`.
void check_with_ranks(const Exchange& exchange, const std::vector<std::string>& parts,
                      const std::function<void()>& check);

// The words of the error about a difference.
struct Difference {
  const char* argument;
  const char* subject;  // "model"
};

// Throws COMM on every rank alike, naming the first rank whose lines differ from those of the first rank that has any,
// and the first line that does. Every rank calls it, with no lines if it has nothing to compare. REQUIRES: they differ.
[[noreturn]] void fail_difference(const Exchange& exchange, const std::vector<std::string>& own,
                                  const Difference& difference);

}  // namespace halftone::parallel
