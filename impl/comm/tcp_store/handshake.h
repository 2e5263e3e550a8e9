// How the two ends of a store's connection prove to each other that they know the secret: the server sends a hello with
// a random number, the client replies with a number of its own and a proof, the server with its decision and a proof. A
// proof is HMAC-SHA-256 of the side's name, the version and both numbers, so no recorded handshake can be repeated. All
// messages have fixed sizes. Pure functions, but for the random numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/status.h"

namespace halftone {

using Nonce = std::array<uint8_t, 32>;
using Proof = std::array<uint8_t, 32>;

inline constexpr uint32_t kStoreVersion = 1;

enum class Decision : uint32_t { kAccepted, kWrongSecret, kOtherVersion };

struct ServerHello {
  char magic[8];
  uint32_t version;
  Nonce nonce;
};

struct ClientHello {
  char magic[8];
  uint32_t version;
  Nonce nonce;
  Proof proof;
};

struct ServerDecision {
  Decision decision;
  Proof proof;
};

// IO if the system has no random numbers.
Status make_server_hello(ServerHello* out) noexcept;
Status make_client_hello(const std::string& secret, const ServerHello& server, ClientHello* out) noexcept;
// false if the bytes are no hello of a store: then nothing is sent in return.
bool judge(const std::string& secret, const ServerHello& server, const ClientHello& client,
           ServerDecision* out) noexcept;

// FORMAT if another program is at the address, and UNSUPPORTED for another version.
Status check_hello(const ServerHello& server) noexcept;
// COMM for a wrong secret, on either side.
Status check_decision(const std::string& secret, const ServerHello& server, const ClientHello& client,
                      const ServerDecision& decision) noexcept;

}  // namespace halftone
