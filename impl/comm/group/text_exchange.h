// Texts that the ranks of a group send to rank 0, and that rank 0 sends to them. Every rank calls these functions at
// the same place. Before a text is sent, all ranks have the memory for it.
#pragma once

#include <string>
#include <vector>

#include "comm/group/agreement.h"

namespace halftone {

// Returns the texts of all ranks on rank 0, in their order, and nothing elsewhere. `sizes` has the size of each rank's
// text as its first number, at least 1. Throws as agree() does.
std::vector<std::string> gathered(Group& group, std::string own, const std::vector<Numbers>& sizes);

// Calls make() on every rank, and gathers the texts that it returns. An error of make() on one rank is an error of all.
template <class Make>
std::vector<std::string> gather_texts(Group& group, Make&& make) {
  std::string own;
  const std::vector<Numbers> sizes = agree_on(group, [&] {
    own = make();
    return Numbers{static_cast<int64_t>(own.size())};
  });
  return gathered(group, std::move(own), sizes);
}

// Replaces the text of each rank by that which rank 0 has for it in `texts`. REQUIRES: `own` has the size of that text,
// at least 1.
void scatter_texts(Group& group, const std::vector<std::string>& texts, std::string& own);

}  // namespace halftone
