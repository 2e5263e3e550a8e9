// The parts of matrices that a lane holds, as the PTX manual states them (PTX ISA 8.0, "Matrix Fragments for
// mma.m16n8k16 with floating point type", "ldmatrix"), and the emulated instructions on them.
#include "cuda/attention/fragment.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "cuda/attention/shared_copy.h"
#include "cuda/attention/shared_rows.h"

namespace halftone::cuda {
namespace {

constexpr int kLanes = 32;
int group_id(int lane) { return lane >> 2; }
int thread_in_group(int lane) { return lane % 4; }

TEST(Fragment, PlacesAreThoseOfTheManual) {
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 8; ++i) {
      const bool is_upper = i < 2 || (i >= 4 && i < 6);
      EXPECT_EQ(place_in_a(lane, i).row, is_upper ? group_id(lane) : group_id(lane) + 8);
      EXPECT_EQ(place_in_a(lane, i).column, thread_in_group(lane) * 2 + (i & 1) + (i < 4 ? 0 : 8));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(place_in_b(lane, i).row, thread_in_group(lane) * 2 + (i & 1) + (i < 2 ? 0 : 8));
      EXPECT_EQ(place_in_b(lane, i).column, group_id(lane));
      EXPECT_EQ(place_in_c(lane, i).row, i < 2 ? group_id(lane) : group_id(lane) + 8);
      EXPECT_EQ(place_in_c(lane, i).column, thread_in_group(lane) * 2 + (i & 1));
    }
  }
}

// The weights of one product become the left operand of the next one in the same registers.
TEST(Fragment, PlacesOfTwoResultsAreThoseOfALeftOperand) {
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 8; ++i) {
      const MatrixPlace of_c = place_in_c(lane, i % 4);
      EXPECT_EQ(place_in_a(lane, i).row, of_c.row);
      EXPECT_EQ(place_in_a(lane, i).column, of_c.column + i / 4 * 8);
    }
  }
}

// Runs one block of one warp; `shared` bytes of dynamic shared memory.
template <class F>
void run_warp(size_t shared, const F& f) {
  emulation::run_grid({1, 1, 1}, {kLanes, 1, 1}, shared, [&] { f(emulation::lane()); });
}

template <class T>
void expect_products() {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-2, 2);
  float a[16][16], b[16][8], c[16][8], out[16][8];
  for (auto& row : a) {
    for (float& x : row) x = T::from(uniform(random));
  }
  for (auto& row : b) {
    for (float& x : row) x = T::from(uniform(random));
  }
  for (auto& row : c) {
    for (float& x : row) x = uniform(random);
  }
  run_warp(0, [&](int lane) {
    uint32_t of_a[4], of_b[2];
    float of_c[4];
    const auto a_at = [&](int i) { return a[place_in_a(lane, i).row][place_in_a(lane, i).column]; };
    const auto b_at = [&](int i) { return b[place_in_b(lane, i).row][place_in_b(lane, i).column]; };
    for (int w = 0; w < 4; ++w) of_a[w] = pack_pair<T>(a_at(2 * w), a_at(2 * w + 1));
    for (int w = 0; w < 2; ++w) of_b[w] = pack_pair<T>(b_at(2 * w), b_at(2 * w + 1));
    for (int i = 0; i < 4; ++i) of_c[i] = c[place_in_c(lane, i).row][place_in_c(lane, i).column];
    multiply_add<T>(of_c, of_a, of_b[0], of_b[1]);
    for (int i = 0; i < 4; ++i) out[place_in_c(lane, i).row][place_in_c(lane, i).column] = of_c[i];
  });
  for (int r = 0; r < 16; ++r) {
    for (int n = 0; n < 8; ++n) {
      double expected = c[r][n];
      for (int k = 0; k < 16; ++k) expected += static_cast<double>(a[r][k]) * b[k][n];
      ASSERT_NEAR(out[r][n], expected, 1e-5) << r << ", " << n;
    }
  }
}

TEST(Fragment, AWarpMultipliesMatrices) {
  expect_products<BFloat16>();
  expect_products<Float16>();
}

// Element e of row r of matrix m is 1000 m + 10 r + e. The rows lie in any order, 48 bytes apart.
uint16_t number_at(int m, int r, int e) { return static_cast<uint16_t>(1000 * m + 10 * r + e); }
SharedAddress address_of(int m, int r) { return static_cast<SharedAddress>(48 * ((m * 8 + r) * 5 % 32)); }

TEST(Fragment, AWarpLoadsFourMatricesAndTheirTransposes) {
  run_warp(48 * 32, [&](int lane) {
    for (int e = 0; e < 8; ++e) {
      const uint16_t number = number_at(lane / 8, lane % 8, e);
      std::memcpy(shared_bytes_at(address_of(lane / 8, lane % 8)) + 2 * e, &number, sizeof number);
    }
    uint32_t plain[4], transposed[4];
    load_matrices(address_of(lane / 8, lane % 8), plain);
    load_transposed(address_of(lane / 8, lane % 8), transposed);
    for (int m = 0; m < 4; ++m) {
      for (int e = 0; e < 2; ++e) {
        const int along = thread_in_group(lane) * 2 + e;
        EXPECT_EQ(plain[m] >> 16 * e & 0xffff, number_at(m, group_id(lane), along)) << lane;
        EXPECT_EQ(transposed[m] >> 16 * e & 0xffff, number_at(m, along, group_id(lane))) << lane;
      }
    }
  });
}

TEST(Fragment, CopiesArriveWhenTheThreadWaits) {
  const uint32_t words[4] = {1, 2, 3, 4};
  run_warp(64, [&](int lane) {
    if (lane != 0) return;
    copy_16_later(16, words, true);
    copy_16_later(32, words, false);
    commit_copies();
    EXPECT_EQ(load_shared_16(16).x, 0xffffffffu);
    wait_for_copies();
    EXPECT_EQ(load_shared_16(16).w, 4u);
    EXPECT_EQ(load_shared_16(32).w, 0u);
  });
}

// ---- Banks: eight rows of 16 bytes, which one step of ldmatrix reads or eight threads write, must lie in all banks.

using Accesses = std::vector<uint32_t>;  // addresses of 16 bytes in one step
int most_in_one_bank(const Accesses& accesses) {
  int banks[32] = {};
  int most = 0;
  std::set<uint32_t> seen;
  for (const uint32_t address : accesses) {
    for (uint32_t word = address / 4; word < address / 4 + 4; ++word) {
      if (seen.insert(word).second) most = std::max(most, ++banks[word % 32]);
    }
  }
  return most;
}

TEST(SharedRows, LoadsOfMatricesMeetEveryBankOnce) {
  for (const int depth : {64, 128}) {
    for (const bool by_rows : {true, false}) {
      for (int chunk = 0; chunk < depth / kChunk; chunk += 2) {
        for (int matrix = 0; matrix < 4; ++matrix) {
          Accesses accesses;
          for (int lane = 8 * matrix; lane < 8 * matrix + 8; ++lane) {
            const LaneRow at = by_rows ? lane_row_by_rows(lane) : lane_row_by_chunks(lane);
            const uint32_t address = chunks_after(chunk_offset(depth, at.row, at.chunk), chunk);
            ASSERT_EQ(address, chunk_offset(depth, at.row, at.chunk + chunk));
            accesses.push_back(address);
          }
          ASSERT_EQ(most_in_one_bank(accesses), 1) << depth << ", chunk " << chunk;
        }
      }
    }
  }
}

TEST(SharedRows, CopiesOfChunksMeetEveryBankOnce) {
  for (const int depth : {64, 128}) {
    const int chunks = depth / kChunk;
    for (int first = 0; first < 256; first += 8) {
      Accesses accesses;
      for (int t = first; t < first + 8; ++t) accesses.push_back(chunk_offset(depth, t / chunks, t % chunks));
      ASSERT_EQ(most_in_one_bank(accesses), 1) << depth << ", thread " << first;
    }
  }
}

// A lane stores four bytes: all lanes in one step.
TEST(SharedRows, StoresOfResultsMeetEveryBankOnce) {
  for (const int depth : {64, 128}) {
    for (int chunk = 0; chunk < depth / kChunk; ++chunk) {
      int banks[32] = {};
      for (int lane = 0; lane < kLanes; ++lane) {
        const MatrixPlace place = place_in_c(lane, 0);
        const uint32_t address = chunk_offset(depth, place.row, chunk) + 2 * static_cast<uint32_t>(place.column);
        ASSERT_EQ(++banks[address / 4 % 32], 1) << depth << ", chunk " << chunk;
      }
    }
  }
}

TEST(SharedRows, EveryChunkHasItsOwnPlace) {
  for (const int depth : {64, 128}) {
    std::set<uint32_t> places;
    for (int row = 0; row < 64; ++row) {
      for (int chunk = 0; chunk < depth / kChunk; ++chunk) places.insert(chunk_offset(depth, row, chunk));
    }
    EXPECT_EQ(places.size(), static_cast<size_t>(64 * depth / kChunk));
    EXPECT_EQ(*places.rbegin(), rows_bytes(depth, 64) - kChunkBytes);
  }
}

}  // namespace
}  // namespace halftone::cuda
