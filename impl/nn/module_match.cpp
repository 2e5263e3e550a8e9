#include "nn/module_match.h"

#include <cstring>
#include <string>
#include <unordered_set>

#include "core/text/glob.h"

namespace halftone::nn {

namespace {

class MatchWalk {
 public:
  MatchWalk(const ModuleMatch& match, const std::function<void(Module& fitting)>& f) : match_(match), f_(f) {}

  void visit(const std::string& path, Module& module) {
    if (!met_.insert(&module).second) return;
    if (fits(path, module)) {
      f_(module);
      ++fitting_;
    }
    for (size_t i = 0; const Module* child = module.child(i); ++i) {
      const std::string name = module.child_name(i);
      // Children are shared parts of a module that the caller may change.
      visit(path.empty() ? name : path + "." + name, const_cast<Module&>(*child));
    }
  }
  int64_t fitting() const noexcept { return fitting_; }

 private:
  bool fits(const std::string& path, const Module& module) const {
    return (match_.path == nullptr || matches_glob(match_.path, path.c_str())) &&
           (match_.kind == nullptr || std::strcmp(match_.kind, module.kind()) == 0);
  }

  const ModuleMatch& match_;
  const std::function<void(Module& fitting)>& f_;
  std::unordered_set<const Module*> met_;
  int64_t fitting_ = 0;
};

}  // namespace

int64_t for_each_match(Module& module, const ModuleMatch& match, const std::function<void(Module& fitting)>& f) {
  module.contents();  // refuses what is too deep or has too many paths
  MatchWalk walk(match, f);
  walk.visit("", module);
  return walk.fitting();
}

}  // namespace halftone::nn
