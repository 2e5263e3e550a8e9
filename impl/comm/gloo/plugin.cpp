// The entry of libhalftone_gloo.so: groups of the kind "gloo" and stores of the kind "tcp".
#include "comm/gloo/gloo_group.h"
#include "comm/plugin_entry.h"
#include "comm/tcp_store/tcp_store.h"

extern "C" __attribute__((visibility("default"))) const halftone::PluginTable* halftone_plugin(
    const halftone::PluginHost* host) {
  static const halftone::PluginTable table = [] {
    halftone::PluginTable made = halftone::empty_plugin_table("gloo");
    made.group_name = "gloo";
    made.create_group = halftone::create_gloo_group;
    made.store_name = "tcp";
    made.create_store = halftone::create_tcp_store;
    return made;
  }();
  return halftone::enter_plugin(host, table);
}
