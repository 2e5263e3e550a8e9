#include <algorithm>

#include "commands.h"
#include "product.h"
#include "speed.h"
#include "text.h"

namespace halftone_analyze {
namespace {

constexpr int64_t kMultiples[] = {8, 16, 32, 64};

// A shape, and the multiples to which rounding up the sizes of the asked one gives it. The first is the asked one.
struct Candidate {
  ProductShape shape;
  std::vector<std::string> multiples;
  Speed speed{};
};

int64_t rounded_up(int64_t size, int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

std::vector<Candidate> candidates_of(const ProductShape& asked) {
  std::vector<Candidate> candidates = {{asked, {}}};
  for (const int64_t multiple : kMultiples) {
    const ProductShape shape = {rounded_up(asked.m, multiple), rounded_up(asked.n, multiple),
                                rounded_up(asked.k, multiple)};
    if (!(candidates.back().shape == shape)) candidates.push_back({shape, {}});
    candidates.back().multiples.push_back(std::to_string(multiple));
  }
  return candidates;
}

void measure_speeds(std::vector<Candidate>& candidates, htone_dtype dtype) {
  Session session;
  std::vector<Product> products;
  for (const Candidate& candidate : candidates) products.emplace_back(session, dtype, candidate.shape);
  const std::vector<std::vector<double>> rounds = measure(products);
  for (size_t i = 0; i < candidates.size(); ++i) candidates[i].speed = speed_of(rounds[i]);
}

double milliseconds(const Candidate& candidate) { return candidate.shape.operations() / candidate.speed.median / 1e6; }

// The fastest one, if it is clearly faster than the asked one: the middle halves of their rounds do not overlap. Else
// the asked one.
const Candidate& best_of(const std::vector<Candidate>& candidates) {
  const auto best = std::max_element(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.speed.median < b.speed.median;
  });
  return best->speed.low > candidates.front().speed.high ? *best : candidates.front();
}

std::string text_of(const ProductShape& shape) {
  return std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k);
}

std::string json_of(const Candidate& candidate, const Candidate& asked) {
  return JsonObject()
      .whole("m", candidate.shape.m)
      .whole("n", candidate.shape.n)
      .whole("k", candidate.shape.k)
      .raw("multiple_of", json_list(candidate.multiples))
      .raw("gflops", json_of(candidate.speed))
      .number("milliseconds", milliseconds(candidate))
      .number("more_work", candidate.shape.operations() / asked.shape.operations() - 1)
      .done();
}

std::string json_of(const std::vector<Candidate>& candidates, std::string_view dtype) {
  const Candidate& asked = candidates.front();
  const Candidate& best = best_of(candidates);
  std::vector<std::string> shapes;
  for (const Candidate& candidate : candidates) shapes.push_back(json_of(candidate, asked));
  return JsonObject()
             .text("dtype", dtype)
             .raw("shapes", json_list(shapes, ",\n  "))
             .raw("advice", &best == &asked ? "null" : json_of(best, asked))
             .done() +
         "\n";
}

std::string percent(double share) { return short_text(100 * share) + " %"; }

std::string advice_of(const Candidate& best, const Candidate& asked) {
  if (&best == &asked) {
    return "No advice: no other shape is faster than M x N x K by more than the spread of the rounds.\n";
  }
  const double time = milliseconds(best) / milliseconds(asked) - 1;
  return "Advice: " + text_of(best.shape) + " is computed " + short_text(best.speed.median / asked.speed.median) +
         " times as fast as " + text_of(asked.shape) + ". It is " +
         percent(best.shape.operations() / asked.shape.operations() - 1) + " more work, and takes " +
         percent(time < 0 ? -time : time) + (time < 0 ? " less" : " more") + " time.\n";
}

std::string text_of(const std::vector<Candidate>& candidates, std::string_view dtype) {
  std::string text = "GFLOP/s of products in " + std::string(dtype) + ", M x N x K\n";
  text += table_row("shape", 24, {"multiple of", "median", "half from", "to", "ms", "more work"});
  for (const Candidate& candidate : candidates) {
    const Speed& speed = candidate.speed;
    text += table_row(text_of(candidate.shape), 24,
                      {candidate.multiples.empty() ? "-" : candidate.multiples.back(), short_text(speed.median),
                       short_text(speed.low), short_text(speed.high), short_text(milliseconds(candidate)),
                       percent(candidate.shape.operations() / candidates.front().shape.operations() - 1)});
  }
  return text + advice_of(best_of(candidates), candidates.front());
}

}  // namespace

std::string shapes(const Options& options) {
  std::vector<Candidate> candidates = candidates_of({options.sizes[0], options.sizes[1], options.sizes[2]});
  measure_speeds(candidates, options.dtype->dtype);
  return options.json ? json_of(candidates, options.dtype->name) : text_of(candidates, options.dtype->name);
}

}  // namespace halftone_analyze
