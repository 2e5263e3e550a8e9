#include "trainer/saved_numbers.h"

#include "tensor/factory.h"

namespace halftone::trainer {

SavedNumbers::SavedNumbers(SharedStateDict& part, const std::string& name, ContextDevice& device, size_t count)
    : numbers_(full(device, DType::kF64, {static_cast<int64_t>(count)}, 0)) {
  part.state.add(name, numbers_);
}

void SavedNumbers::write(const std::vector<double>& numbers) { write_from_host(numbers_, DType::kF64, numbers.data()); }

std::vector<double> SavedNumbers::read() const {
  std::vector<double> numbers(static_cast<size_t>(numbers_.numel()));
  read_to_host(numbers_, DType::kF64, numbers.data());
  return numbers;
}

}  // namespace halftone::trainer
