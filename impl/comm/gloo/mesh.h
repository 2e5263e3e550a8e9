// Gloo's connections between all ranks of a group, and the buffers that messages go from and to. Gloo moves data on a
// thread of its own, and its exceptions do not leave this folder. Calls that write come with SIGPIPE blocked.
#pragma once

#include <gloo/transport/context.h>

#include <memory>

#include "comm/control/roster.h"
#include "comm/group/rank_names.h"

namespace halftone {

using Mesh = gloo::transport::Context;
// Gloo neither reads nor writes the memory after the buffer is destroyed. REQUIRES: it is destroyed when it has no
// message under way, or after the connection
using MeshBuffer = gloo::transport::UnboundBuffer;

// Connects this rank with all that have met. Returns PEER_LOST with the rank that did not connect, and IO if the
// process has too few descriptors. Throws OUT_OF_MEMORY.
Status connect_mesh(const GroupOptions& options, Roster& roster, std::shared_ptr<Mesh>* out);

}  // namespace halftone
