// The entry of libhalftone_nccl.so: groups of the kind "nccl".
#include "comm/nccl/nccl_group.h"
#include "comm/plugin_entry.h"

extern "C" __attribute__((visibility("default"))) const halftone::PluginTable* halftone_plugin(
    const halftone::PluginHost* host) {
  static const halftone::PluginTable table = [] {
    halftone::PluginTable made = halftone::empty_plugin_table("nccl");
    made.group_name = "nccl";
    made.create_group = halftone::nccl::create_nccl_group;
    return made;
  }();
  return halftone::enter_plugin(host, table);
}
