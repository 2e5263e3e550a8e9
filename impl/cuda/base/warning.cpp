#include "cuda/base/warning.h"

#include <atomic>

namespace halftone::cuda {
namespace {

std::atomic<void (*)(const char*) noexcept> receiver_of_all{nullptr};

}  // namespace

void set_warning_receiver(void (*receiver)(const char* message) noexcept) noexcept { receiver_of_all = receiver; }

void warn(const char* message) noexcept {
  if (const auto receiver = receiver_of_all.load(); receiver != nullptr) receiver(message);
}

}  // namespace halftone::cuda
