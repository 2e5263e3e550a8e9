#include "comm/group/text_exchange.h"

#include <utility>

namespace halftone {

namespace {

// The group only reads a text that is sent.
View view_of(const std::string& text) {
  return {.data = const_cast<char*>(text.data()),
          .dtype = DType::kU8,
          .shape = {static_cast<int64_t>(text.size())},
          .strides = {1}};
}

void send(Group& group, int32_t rank, const std::string& text) {
  run_and_wait([&](Work** work) { return group->send({}, rank, view_of(text), work); });
}

void receive(Group& group, int32_t rank, std::string& text) {
  run_and_wait([&](Work** work) { return group->receive({}, rank, view_of(text), work); });
}

}  // namespace

std::vector<std::string> gathered(Group& group, std::string own, const std::vector<Numbers>& sizes) {
  std::vector<std::string> texts;
  agree_on(group, [&] {
    if (group->rank() == 0) {
      for (const Numbers& size : sizes) texts.emplace_back(static_cast<size_t>(size[0]), '\0');
    }
    return Numbers{};
  });
  if (group->rank() != 0) {
    send(group, 0, own);
    return texts;
  }
  texts[0] = std::move(own);
  for (int32_t rank = 1; rank < group->size(); ++rank) receive(group, rank, texts[static_cast<size_t>(rank)]);
  return texts;
}

void scatter_texts(Group& group, const std::vector<std::string>& texts, std::string& own) {
  if (group->rank() != 0) return receive(group, 0, own);
  own = texts[0];
  for (int32_t rank = 1; rank < group->size(); ++rank) send(group, rank, texts[static_cast<size_t>(rank)]);
}

}  // namespace halftone
