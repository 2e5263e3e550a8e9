#include "comm/tcp_store/handshake.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cstring>

namespace halftone {
namespace {

constexpr char kMagic[8] = {'h', 't', '-', 's', 't', 'o', 'r', 'e'};

// The text that a proof is made of. Without the name of the side, a client could send the server's own proof back.
struct Statement {
  char side[8];
  uint32_t version;
  Nonce server;
  Nonce client;
};
static_assert(sizeof(Statement) == 76 && sizeof(ServerHello) == 44 && sizeof(ClientHello) == 76 &&
              sizeof(ServerDecision) == 36);

Status fill_random(Nonce* out) noexcept {
  if (getrandom(out->data(), out->size(), 0) == static_cast<ssize_t>(out->size())) return {};
  Status status = Status::failure(Code::kIo, "the system gave no random numbers");
  status.native_code = errno;
  return status;
}

bool prove(const std::string& secret, const char* side, const Nonce& server, const Nonce& client, Proof* out) noexcept {
  Statement statement{.side = {}, .version = kStoreVersion, .server = server, .client = client};
  std::memcpy(statement.side, side, std::strlen(side));
  unsigned int size = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(&statement);
  return HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), text, sizeof statement, out->data(),
              &size) != nullptr &&
         size == out->size();
}

bool is_equal(const Proof& a, const Proof& b) noexcept { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace

Status make_server_hello(ServerHello* out) noexcept {
  std::memcpy(out->magic, kMagic, sizeof kMagic);
  out->version = kStoreVersion;
  return fill_random(&out->nonce);
}

Status make_client_hello(const std::string& secret, const ServerHello& server, ClientHello* out) noexcept {
  std::memcpy(out->magic, kMagic, sizeof kMagic);
  out->version = kStoreVersion;
  if (Status status = fill_random(&out->nonce); !status.ok()) return status;
  if (prove(secret, "client", server.nonce, out->nonce, &out->proof)) return {};
  return Status::failure(Code::kInternal, "OpenSSL has no HMAC-SHA-256");
}

bool judge(const std::string& secret, const ServerHello& server, const ClientHello& client,
           ServerDecision* out) noexcept {
  *out = {.decision = Decision::kOtherVersion, .proof = {}};
  if (std::memcmp(client.magic, kMagic, sizeof kMagic) != 0) return false;
  if (client.version != kStoreVersion) return true;
  Proof expected{};
  out->decision = Decision::kWrongSecret;
  if (!prove(secret, "client", server.nonce, client.nonce, &expected) || !is_equal(expected, client.proof)) return true;
  if (prove(secret, "server", server.nonce, client.nonce, &out->proof)) out->decision = Decision::kAccepted;
  return true;
}

Status check_hello(const ServerHello& server) noexcept {
  if (std::memcmp(server.magic, kMagic, sizeof kMagic) != 0) {
    return Status::failure(Code::kFormat, "there is no store at the address, but another program");
  }
  if (server.version == kStoreVersion) return {};
  return Status::failure(Code::kUnsupported, "the store speaks version %u of its protocol, this library version %u",
                         server.version, kStoreVersion);
}

Status check_decision(const std::string& secret, const ServerHello& server, const ClientHello& client,
                      const ServerDecision& decision) noexcept {
  if (decision.decision == Decision::kOtherVersion) {
    return Status::failure(Code::kUnsupported, "the store speaks another version of its protocol than %u",
                           kStoreVersion);
  }
  Proof expected{};
  const bool is_proven = decision.decision == Decision::kAccepted &&
                         prove(secret, "server", server.nonce, client.nonce, &expected) &&
                         is_equal(expected, decision.proof);
  if (is_proven) return {};
  return Status::failure(Code::kComm, "the store has another secret than this process");
}

}  // namespace halftone
