#include "comm/gloo/mesh.h"

#include <errno.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstring>

#include "comm/control/signals_blocked.h"
#include "comm/descriptors.h"
#include "comm/gloo/interface_address.h"

namespace halftone {
namespace {

namespace tcp = gloo::transport::tcp;
using std::chrono::milliseconds;

constexpr int64_t kMillisecondNs = 1'000'000;
// Gloo waits five times as long for a connection as for a message.
constexpr int64_t kConnectTimeouts = 5;
constexpr int64_t kLongestWaitMs = 100LL * 3600 * 1000;

// Gloo's errors are texts.
Status failure_of(const std::exception& error, const GroupOptions& options, int rank) {
  const char* text = error.what();
  if (std::strstr(text, std::strerror(EMFILE)) != nullptr || std::strstr(text, std::strerror(ENFILE)) != nullptr) {
    return too_few_descriptors(options.size, 1, "none is left");
  }
  if (rank >= 0) {
    return Status::failure(Code::kPeerLost, "rank %d came to the group \"%.64s\", but did not connect: %.120s",
                           RankNames(options)[rank], options.name, text);
  }
  return Status::failure(Code::kIo, "cannot open the connections of the group \"%.64s\": %.150s", options.name, text);
}

// Places in the list of the others' addresses.
size_t place_of(int rank, int other) { return static_cast<size_t>(other < rank ? other : other - 1); }

std::string create_pairs(Mesh& mesh, const GroupOptions& options) {
  std::string addresses;
  for (int peer = 0; peer < options.size; ++peer) {
    if (peer == options.rank) continue;
    const std::vector<char> address = mesh.createPair(peer)->address().bytes();
    addresses.append(address.begin(), address.end());
  }
  return addresses;
}

Status connect_pair(Mesh& mesh, const GroupOptions& options, const std::string& addresses, int peer) {
  const size_t bytes = addresses.size() / static_cast<size_t>(options.size - 1);
  const auto begin = addresses.begin() + static_cast<std::ptrdiff_t>(bytes * place_of(peer, options.rank));
  try {
    mesh.getPair(peer)->connect(std::vector<char>(begin, begin + static_cast<std::ptrdiff_t>(bytes)));
    return {};
  } catch (const std::exception& error) {
    return failure_of(error, options, peer);
  }
}

Status create_mesh(const GroupOptions& options, const Roster& roster, std::shared_ptr<Mesh>* out, std::string* own) {
  std::string address;
  if (Status status = find_interface_address(options.interface, &address); !status.ok()) return status;
  try {
    const SignalsBlocked in_its_thread;
    const auto mesh = tcp::CreateDevice(tcp::attr(address.c_str()))->createContext(options.rank, options.size);
    const int64_t left_ms = roster.left_ns() / kMillisecondNs / kConnectTimeouts;
    mesh->setTimeout(milliseconds(std::clamp<int64_t>(left_ms, 1, kLongestWaitMs)));
    *own = create_pairs(*mesh, options);
    *out = mesh;
    return {};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return failure_of(error, options, -1);
  }
}

}  // namespace

Status connect_mesh(const GroupOptions& options, Roster& roster, std::shared_ptr<Mesh>* out) {
  std::string own;
  std::shared_ptr<Mesh> mesh;
  if (Status status = create_mesh(options, roster, &mesh, &own); !status.ok()) return status;
  if (Status status = roster.publish("address", own); !status.ok()) return status;
  // All addresses come first, so that a missing rank is named, and not one that waits for it.
  std::vector<std::string> addresses(static_cast<size_t>(options.size));
  for (int peer = 0; peer < options.size; ++peer) {
    if (peer == options.rank) continue;
    if (Status status = roster.read("address", peer, &addresses[static_cast<size_t>(peer)]); !status.ok())
      return status;
  }
  for (int peer = 0; peer < options.size; ++peer) {
    if (peer == options.rank) continue;
    Status status = connect_pair(*mesh, options, addresses[static_cast<size_t>(peer)], peer);
    if (!status.ok()) return status;
  }
  *out = std::move(mesh);
  return {};
}

}  // namespace halftone
