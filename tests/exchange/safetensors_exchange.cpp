// Writes and checks a safetensors file for safetensors_test.py, which does the other half with the format's own
// package.
//   safetensors_exchange write|check PATH
// Both programs know the content: one tensor of every dtype with that name, a scalar and an empty tensor. Byte i is (37
// i + 11) mod 256; for bools it is i mod 2.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "core/error.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone {
namespace {

constexpr DType kEveryDtype[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2,
                                 DType::kI64, DType::kI32, DType::kI16, DType::kI8,   DType::kU8,     DType::kBool};

std::vector<unsigned char> bytes_of(DType dtype, const Shape& shape) {
  std::vector<unsigned char> bytes(static_cast<size_t>(numel(shape)) * size_of(dtype));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(dtype == DType::kBool ? i % 2 : 37 * i + 11);
  }
  return bytes;
}

struct Described {
  std::string name;
  DType dtype;
  Shape shape;
};

std::vector<Described> every_tensor() {
  std::vector<Described> tensors = {{"scalar", DType::kF32, {}}, {"empty", DType::kF32, {0, 4}}};
  for (DType dtype : kEveryDtype) tensors.push_back({checkpoint::safetensors_name(dtype), dtype, {2, 3}});
  return tensors;
}

void write(ContextDevice& device, const std::string& path) {
  StateDict state;
  for (const Described& tensor : every_tensor()) {
    const std::vector<unsigned char> bytes = bytes_of(tensor.dtype, tensor.shape);
    state.add(tensor.name, from_host(device, tensor.dtype, tensor.shape, bytes.data()));
  }
  checkpoint::save_safetensors(system_io(), path, state, {{"producer", "halftone"}});
}

bool is_right(const StateDict& state, const Described& expected) {
  const StateTensor* found = state.find(expected.name);
  if (found == nullptr || found->tensor.dtype() != expected.dtype || found->tensor.shape() != expected.shape) {
    return false;
  }
  const std::vector<unsigned char> bytes = bytes_of(expected.dtype, expected.shape);
  return bytes.empty() || std::memcmp(found->tensor.data(), bytes.data(), bytes.size()) == 0;
}

bool check_file(ContextDevice& device, const std::string& path) {
  const StateDict state = checkpoint::SafetensorsFile(system_io(), path).read_all(device);
  const std::vector<Described> tensors = every_tensor();
  bool all_right = state.tensors().size() == tensors.size();
  for (const Described& tensor : tensors) {
    if (is_right(state, tensor)) continue;
    std::printf("%s is missing or another\n", tensor.name.c_str());
    all_right = false;
  }
  return all_right;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  using namespace halftone;
  if (argc != 3) return 2;
  const Ref<Context> context = make_ref<Context>(ContextOptions{});
  try {
    if (std::strcmp(argv[1], "check") == 0) return check_file(context->device("cpu"), argv[2]) ? 0 : 1;
    write(context->device("cpu"), argv[2]);
    return 0;
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
