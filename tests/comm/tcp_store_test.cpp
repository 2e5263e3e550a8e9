// The store over TCP: addresses that do not work, strangers at its port, and ends of connections. Its replies are
// tested with those of the other stores.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <random>

#include "gloo_ranks.h"

namespace halftone {
namespace {

// The fixed sizes of a handshake's messages.
constexpr size_t kServerHello = 44;
constexpr size_t kClientHello = 76;
constexpr size_t kDecision = 36;

Error error_of(const StoreOptions& options) {
  const Ref<Context> context = make_gloo_context();
  try {
    create_store("tcp", *context, options);
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, 0, "", "");
}

StoreValue bytes_of(const std::string& text) { return {.data = text.data(), .bytes = text.size()}; }

// A plain connection to a store, from a program that is no client of it.
class Stranger {
 public:
  explicit Stranger(const std::string& address) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  }
  explicit Stranger(int socket) : socket_(socket) {}
  ~Stranger() { close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  bool is_connected() const { return is_connected_; }
  void send(const std::string& bytes) { ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Fewer bytes if the connection ends before.
  std::string receive(size_t bytes) {
    std::string result(bytes, '\0');
    const ssize_t count = recv(socket_, result.data(), bytes, MSG_WAITALL);
    result.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return result;
  }
  // Blocks until the other side has closed the connection.
  void expect_end() {
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char byte = 0;
    const bool is_closed = recv(socket_, &byte, 1, 0) == 0 || errno == ECONNRESET;
    EXPECT_TRUE(is_closed);
  }

 private:
  int socket_;
  bool is_connected_ = true;
};

class TcpStoreTest : public testing::Test {
 protected:
  const Ref<Context> context_ = make_gloo_context();
  SharedBoard board_;
  // The handshake's deadline is that of the store's connections.
  OwnedStore store_ = create_store("tcp", *context_, tcp_options("127.0.0.1:0", true, 700 * kMillisecond));
  std::string address() {
    char text[64];
    size_t bytes = 0;
    check(store_->get("store/address", 0, text, sizeof text, &bytes));
    return std::string(text, bytes);
  }
  // Training goes on.
  void expect_service() {
    const OwnedStore client = create_store("tcp", *context_, tcp_options(address().c_str(), false));
    int64_t sum = 0;
    EXPECT_TRUE(client->add("count", 1, &sum).ok());
    EXPECT_TRUE(store_->add("count", 1, &sum).ok());
  }
};

TEST_F(TcpStoreTest, D11_APortInUseIsToldWithErrno) {
  const Error error = error_of(tcp_options(address().c_str(), true));
  EXPECT_EQ(error.code(), Code::kIo);
  EXPECT_EQ(error.native_code(), EADDRINUSE);
  EXPECT_NE(std::string(error.what()).find(address()), std::string::npos) << error.what();
}

TEST_F(TcpStoreTest, D11_AnAddressWithoutAServerIsToldAtTheDeadline) {
  const std::string old = address();
  store_.reset();
  const Error error = error_of(tcp_options(old.c_str(), false, 300 * kMillisecond));
  EXPECT_EQ(error.code(), Code::kIo) << error.what();
  EXPECT_EQ(error.native_code(), ECONNREFUSED);
}

TEST(TcpStore, D11_AnAddressThatDoesNotResolveIsNamed) {
  for (const bool is_server : {false, true}) {
    const Error error = error_of(tcp_options("no such place:1", is_server, kSecond));
    EXPECT_EQ(error.code(), Code::kIo) << error.what();
    EXPECT_NE(error.native_code(), 0);
    EXPECT_NE(std::string(error.what()).find("\"no such place\""), std::string::npos) << error.what();
  }
}

TEST(TcpStore, D11_AnAddressHasAPort) {
  for (const char* address :
       {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:8a", "[::1", "::1]:80"}) {
    const Error error = error_of(tcp_options(address, true));
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << address;
    EXPECT_NE(std::string(error.what()).find("address:port"), std::string::npos) << error.what();
  }
  EXPECT_EQ(error_of(tcp_options(nullptr, false)).code(), Code::kInvalidArgument);
}

TEST(TcpStore, D11_AnAddressOfIpv6Works) {
  const int probe = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool has_ipv6 = bind(probe, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
  close(probe);
  if (!has_ipv6) GTEST_SKIP() << "skipped: this machine has no loopback of IPv6";
  const Ref<Context> context = make_gloo_context();
  const OwnedStore store = create_store("tcp", *context, tcp_options("[::1]:0", true));
  int64_t sum = 0;
  EXPECT_TRUE(store->add("count", 1, &sum).ok());
}

TEST_F(TcpStoreTest, D12_AStrangerThatSendsNothingIsDropped) {
  Stranger stranger(address());
  EXPECT_EQ(stranger.receive(kServerHello).size(), kServerHello);
  stranger.expect_end();
  expect_service();
}

TEST_F(TcpStoreTest, D12_StrangersThatSendSomethingElseAreDropped) {
  std::mt19937 random(7);
  std::string noise(5000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  std::string lengths(208, '\0');
  std::fill_n(lengths.begin(), 8, '\xff');
  for (const std::string& text : {noise, std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), lengths}) {
    Stranger stranger(address());
    stranger.receive(kServerHello);
    stranger.send(text);
    stranger.expect_end();
    expect_service();
  }
}

TEST_F(TcpStoreTest, D12_AWrongSecretIsRefused) {
  const std::string place = address();
  StoreOptions options = tcp_options(place.c_str(), false);
  const std::string secret = "another secret";
  options.secret = bytes_of(secret);
  const Error error = error_of(options);
  EXPECT_EQ(error.code(), Code::kComm);
  EXPECT_NE(std::string(error.what()).find("has another secret"), std::string::npos) << error.what();
  options.secret = {};
  EXPECT_EQ(error_of(options).code(), Code::kComm);
  expect_service();
}

// Passes on what a client and the store send, and keeps what the client sends.
struct Relay {
  explicit Relay(const std::string& address)
      : listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), server(address) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    socklen_t size = sizeof place;
    getsockname(listener, reinterpret_cast<sockaddr*>(&place), &size);
    own_address = "127.0.0.1:" + std::to_string(ntohs(place.sin_port));
  }
  ~Relay() { close(listener); }

  // A handshake passes unchanged.
  void relay_handshake() {
    client = std::make_unique<Stranger>(accept(listener, nullptr, nullptr));
    client->send(server.receive(kServerHello));
    client_hello = client->receive(kClientHello);
    server.send(client_hello);
    client->send(server.receive(kDecision));
  }

  int listener;
  Stranger server;
  std::unique_ptr<Stranger> client;
  std::string own_address;
  std::string client_hello;
};

TEST_F(TcpStoreTest, D12_ARepeatedHandshakeIsRefused) {
  Relay relay(address());
  std::thread thread([&] { relay.relay_handshake(); });
  OwnedStore client = create_store("tcp", *context_, tcp_options(relay.own_address.c_str(), false));
  thread.join();
  Stranger stranger(address());
  stranger.receive(kServerHello);
  stranger.send(relay.client_hello);
  const std::string decision = stranger.receive(kDecision);
  ASSERT_EQ(decision.size(), kDecision);
  EXPECT_NE(decision.substr(0, 4), std::string(4, '\0')) << "it was accepted";
  stranger.expect_end();
  expect_service();
}

// Even a client that knows the secret cannot make the server take memory for a length alone.
TEST_F(TcpStoreTest, D12_ALengthBeyondTheLimitEndsTheConnection) {
  Relay relay(address());
  std::thread thread([&] { relay.relay_handshake(); });
  OwnedStore client = create_store("tcp", *context_, tcp_options(relay.own_address.c_str(), false));
  thread.join();
  relay.server.send(std::string(8, '\xff'));
  relay.server.expect_end();
  expect_service();
}

ptrdiff_t count_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

// The strangers are another process, so that this one's descriptors are the server's.
TEST(TcpStore, D12_TenThousandStrangersTakeFewDescriptors) {
  constexpr int kStrangers = 10'000;
  constexpr size_t kAtOnce = 1000;  // as many as a process may have open on any machine
  const SharedBoard board;
  ChildProcess crowd([&] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_TRUE(wait_until([&] { return board->has_address.load(); }));
    std::deque<std::unique_ptr<Stranger>> strangers;
    for (int i = 0; i < kStrangers; ++i) {
      if (strangers.size() == kAtOnce) strangers.pop_front();
      strangers.push_back(std::make_unique<Stranger>(board->address));
      EXPECT_TRUE(strangers.back()->is_connected());
    }
    ++board->counters[0];
    EXPECT_TRUE(wait_until([&] { return board->counters[1] > 0; }));
  });
  const Ref<Context> context = make_gloo_context();
  const OwnedStore store = serve_store(*context, *board);
  const ptrdiff_t before = count_files();
  EXPECT_TRUE(wait_until([&] { return board->counters[0] > 0; }));
  const OwnedStore client = create_store("tcp", *context, tcp_options(board->address, false));
  int64_t sum = 0;
  EXPECT_TRUE(client->add("count", 1, &sum).ok());
  EXPECT_LT(count_files(), before + 100);
  ++board->counters[1];
  EXPECT_EQ(crowd.wait(), 0);
}

TEST_F(TcpStoreTest, LargeValuesPassAndTooLargeOnesAreRefused) {
  std::string value(3 << 20, 'x');
  value[12345] = 'y';
  EXPECT_TRUE(store_->set("large", bytes_of(value)).ok());
  std::string read(value.size(), '\0');
  size_t bytes = 0;
  EXPECT_TRUE(store_->get("large", 0, read.data(), read.size(), &bytes).ok());
  EXPECT_TRUE(read == value);
  const std::string huge((64 << 20) + 1, 'x');
  EXPECT_EQ(store_->set("huge", bytes_of(huge)).code, Code::kInvalidArgument);
  expect_service();
}

TEST_F(TcpStoreTest, AServerThatLeavesEndsTheCallsOfItsClients) {
  const OwnedStore client = create_store("tcp", *context_, tcp_options(address().c_str(), false));
  std::thread waiter([&] {
    const char* key = "never";
    EXPECT_EQ(client->wait(&key, 1, 60 * kSecond).code, Code::kPeerLost);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  store_.reset();
  waiter.join();
  const Status status = client->set("key", bytes_of("1"));
  EXPECT_EQ(status.code, Code::kIo) << status.message;
  EXPECT_EQ(status.native_code, ECONNREFUSED);
}

TEST(TcpStore, AClientThatIsKilledInAWaitHarmsNobody) {
  GlooRanks ranks(2, [](GlooRank& rank) {
    if (rank.number == 0) {
      const char* key = "late";
      ++rank.board.counters[0];
      EXPECT_TRUE(rank.store->wait(&key, 1, 60 * kSecond).ok());
      return;
    }
    EXPECT_TRUE(wait_until([&] { return rank.board.counters[1] > 0; }));
    EXPECT_TRUE(rank.store->set("late", bytes_of("1")).ok());
  });
  ASSERT_TRUE(ranks.wait_for(0, 1));
  ranks.kill(0);
  ++ranks.board().counters[1];
}

}  // namespace
}  // namespace halftone
