// The store of processes on one or many machines: one of them serves the entries over TCP. Created through the plugin's
// table.
#pragma once

#include "comm/store.h"

namespace halftone {

// options.address is "address:port". With is_server, port 0 lets the system choose one; the key "store/address" has the
// address that was bound. Without it, waits until `timeout_ns` for a server. Returns IO with errno for an address that
// does not work, COMM for a wrong secret, and UNSUPPORTED for another version of the protocol.
Status create_tcp_store(const StoreOptions& options, KeyValueStore** out) noexcept;

}  // namespace halftone
