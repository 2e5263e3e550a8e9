// Products of matrices [m, k] x [k, n], and how fast the device computes them.
#pragma once

#include <cstdint>
#include <vector>

#include "session.h"

namespace halftone_analyze {

struct ProductShape {
  int64_t m;
  int64_t n;
  int64_t k;

  double operations() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  bool operator==(const ProductShape&) const = default;
};

class Product {
 public:
  // Its matrices live as long as the session. Those of 8-bit floats are multiplied with scales of 1 to a result in
  // bf16.
  Product(Session& session, htone_dtype dtype, const ProductShape& shape);

  // Computes it once.
  void run() const;
  // The time of one product, in the mean of `repeats`.
  double seconds(int64_t repeats) const;
  const ProductShape& shape() const { return shape_; }

 private:
  Session& session_;
  htone_dtype dtype_;
  ProductShape shape_;
  htone_tensor* a_ = nullptr;
  htone_tensor* b_ = nullptr;
  htone_tensor* one_ = nullptr;  // the scale of 8-bit floats
};

// The speeds of the products in GFLOP/s, by product and round. Each round computes all of them in turn, so that a
// change of the machine's speed reaches all. There are 5 to 21 rounds in about two seconds, more if one product takes
// long.
std::vector<std::vector<double>> measure(const std::vector<Product>& products);

}  // namespace halftone_analyze
