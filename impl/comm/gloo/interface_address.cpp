#include "comm/gloo/interface_address.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace halftone {
namespace {

template <auto Free>
struct FreeList {
  template <class List>
  void operator()(List* list) const noexcept {
    Free(list);
  }
};

std::string numeric(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST];
  const int error = getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host : "";
}

// An address of another machine cannot be bound.
bool is_own(const sockaddr* address, socklen_t size) {
  const int probe = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const bool is_bound = bind(probe, address, size) == 0;
  close(probe);
  return is_bound;
}

// IPv4 before IPv6, because all ranks must choose the same.
std::string address_of_interface(const char* name) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, FreeList<freeifaddrs>> owner(list);
  for (const int family : {AF_INET, AF_INET6}) {
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    for (const ifaddrs* next = list; next != nullptr; next = next->ifa_next) {
      if (next->ifa_addr == nullptr || next->ifa_addr->sa_family != family) continue;
      if (std::strcmp(next->ifa_name, name) == 0) return numeric(next->ifa_addr, size);
    }
  }
  return "";
}

std::string address_of_host(const char* name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(name, nullptr, &hints, &list) != 0) return "";
  const std::unique_ptr<addrinfo, FreeList<freeaddrinfo>> owner(list);
  for (const addrinfo* next = list; next != nullptr; next = next->ai_next) {
    if (is_own(next->ai_addr, next->ai_addrlen)) return numeric(next->ai_addr, next->ai_addrlen);
  }
  return "";
}

}  // namespace

Status find_interface_address(const char* interface, std::string* out) {
  if (interface == nullptr) {
    char name[HOST_NAME_MAX + 1] = {};
    gethostname(name, sizeof name - 1);
    *out = address_of_host(name);
    if (out->empty()) *out = "127.0.0.1";
    return {};
  }
  *out = address_of_interface(interface);
  if (out->empty()) *out = address_of_host(interface);
  if (!out->empty()) return {};
  Status status = Status::failure(Code::kIo, "\"%.64s\" is no interface and no address of this machine", interface);
  status.native_code = EADDRNOTAVAIL;
  return status;
}

}  // namespace halftone
