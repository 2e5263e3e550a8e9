// A store that shows a rank the addresses of proxies in place of those of its peers, so that Gloo's connections go
// through the proxies.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "forwarded_store.h"
#include "gloo_ranks.h"
#include "tcp_proxy.h"

namespace halftone {

// Gloo lets the rank with the higher address connect to the other. Rank r has 127.0.0.(r + 1), so a rank's connections
// to all lower ranks go through proxies of its own.
class ProxiedStore final : public ForwardedStore {
 public:
  ProxiedStore(KeyValueStore& store, int rank, int size, const Link& link)
      : ForwardedStore(store), rank_(rank), size_(size), link_(link) {}

  Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept override {
    Status status = ForwardedStore::get(key, timeout_ns, out, capacity, out_bytes);
    if (!status.ok() || *out_bytes > capacity) return status;
    for (int peer = 0; peer < rank_; ++peer) {
      if (key == "world/address/" + std::to_string(peer)) redirect(static_cast<char*>(out), *out_bytes, peer);
    }
    return status;
  }

  // To the lower ranks.
  const std::vector<std::unique_ptr<TcpProxy>>& proxies() const { return proxies_; }

 private:
  // A peer's text has an entry for each other rank, in their order, which begins with the socket's address. REQUIRES:
  // `peer` is lower than this rank
  void redirect(char* text, size_t bytes, int peer) {
    const size_t entry_bytes = bytes / static_cast<size_t>(size_ - 1);
    char* const place = text + entry_bytes * static_cast<size_t>(rank_ - 1);
    sockaddr_in address{};
    std::memcpy(&address, place, sizeof address);
    ASSERT_EQ(address.sin_family, AF_INET) << "rank " << peer;
    proxies_.push_back(std::make_unique<TcpProxy>(address, link_));
    std::memcpy(place, &proxies_.back()->address(), sizeof address);
  }

  const int rank_;
  const int size_;
  const Link link_;
  std::vector<std::unique_ptr<TcpProxy>> proxies_;
};

}  // namespace halftone
