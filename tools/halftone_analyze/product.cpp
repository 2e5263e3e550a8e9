#include "product.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace halftone_analyze {
namespace {

constexpr double kSecondsInAll = 2;
constexpr double kSecondsAtOnce = 2e-3;  // at least, so that the clock's steps do not matter

}  // namespace

Product::Product(Session& session, htone_dtype dtype, const ProductShape& shape)
    : session_(session),
      dtype_(dtype),
      shape_(shape),
      a_(session.full(dtype, {shape.m, shape.k}, 0.5)),
      b_(session.full(dtype, {shape.k, shape.n}, 0.5)),
      one_(session.full(HTONE_F32, {}, 1)) {}

void Product::run() const {
  const Scope scope;  // releases the result
  htone_tensor* result = nullptr;
  if (dtype_ == HTONE_F8E4M3) {
    check(htone_scaled_matmul(a_, b_, one_, one_, HTONE_BF16, nullptr, nullptr, nullptr, &result));
  } else {
    check(htone_matmul(a_, b_, &result));
  }
}

double Product::seconds(int64_t repeats) const {
  session_.wait();
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < repeats; ++i) run();
  session_.wait();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  return all.count() / static_cast<double>(repeats);
}

std::vector<std::vector<double>> measure(const std::vector<Product>& products) {
  std::vector<int64_t> repeats;
  double round = 0;  // seconds
  for (const Product& product : products) {
    product.run();  // the first one allocates
    const double once = std::max(product.seconds(1), 1e-9);
    repeats.push_back(static_cast<int64_t>(std::ceil(std::max(kSecondsAtOnce / once, 1.0))));
    round += once * static_cast<double>(repeats.back());
  }
  const int rounds = 4 * static_cast<int>(std::clamp(kSecondsInAll / round / 4, 1.0, 5.0)) + 1;
  std::vector<std::vector<double>> speeds(products.size());
  for (int i = 0; i < rounds; ++i) {
    for (size_t j = 0; j < products.size(); ++j) {
      speeds[j].push_back(products[j].shape().operations() / products[j].seconds(repeats[j]) / 1e9);
    }
  }
  return speeds;
}

}  // namespace halftone_analyze
