#include "halftone/launch.h"

#include <cstdio>

#include "base/call.h"
#include "comm/group/group.h"
#include "comm/group_options.h"
#include "comm/handles.h"
#include "comm/launch/launched_group.h"
#include "runtime/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_launch launch_of_process() {
  const Launch launch = read_launch();
  htone_launch shown = {.struct_size = sizeof shown,
                        .rank = launch.rank,
                        .size = launch.size,
                        .local_rank = launch.local_rank,
                        .local_size = launch.local_size,
                        .launcher = ""};
  std::snprintf(shown.launcher, sizeof shown.launcher, "%s", launch.launcher.c_str());
  return shown;
}

}  // namespace

htone_status htone_launch_read(htone_launch* out_launch) {
  return Call(launch_of_process, structure(out_launch, offsetof(htone_launch, launcher)));
}

htone_status htone_group_create_launched(htone_device* device, const htone_group_options* options, htone_group** out) {
  return guard([&] {
    const auto place = hold(device, "device");
    const auto given = options_or_default<htone_group_options>(options, HTONE_GROUP_OPTIONS_INIT);
    require_memory(out, "out");
    const Ref<Group> group = create_launched_group(*place, read_launch(), group_settings(given));
    if (given.deterministic != 0) group->set_deterministic();
    give_handle(out, group);
  });
}
