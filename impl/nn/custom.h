// A module with a forward of the caller's. Its parameters, buffers and children are added to it by name, and may be
// replaced and removed.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "nn/parts.h"

namespace halftone::nn {

// Adding is the caller's to order against every use of the module.
class Custom : public Module, public Parts {
 public:
  // Names are not empty, have no dot and are used once in a module. Each throws INVALID_ARGUMENT where the name is
  // taken or has a dot.
  void add_parameter(const std::string& name, const Ref<Parameter>& parameter);
  // The tensor's memory is what the module's state shows and what a load writes. Throws STATE where it must not be
  // written.
  void add_buffer(const std::string& name, const Tensor& tensor);
  // As add_buffer, in the place of the buffer of the name.
  void replace_buffer(const std::string& name, const Tensor& tensor);
  void add_module(const std::string& name, const Ref<Module>& module) override;
  void replace_module(const std::string& name, const Ref<Module>& module) override;
  // A parameter, a buffer or a child.
  void remove(const std::string& name) override;

  bool has_callers_forward() const noexcept override { return true; }
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;
  void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const override;
  const Module* child(size_t index) const noexcept override;
  std::string child_name(size_t index) const override { return modules_[index].name; }

 private:
  struct NamedModule {
    std::string name;
    Ref<Module> module;
  };

  Ref<Parameter>* parameter_place(std::string_view name) noexcept override;
  void require_free(const std::string& name) const;
  template <class Named>
  void add(std::vector<Named>& list, Named named);
  // Returns the one of a name, null where there is none.
  template <class Named>
  static Named* find_in(std::vector<Named>& list, std::string_view name) noexcept;
  template <class Named>
  bool remove_from(std::vector<Named>& list, const std::string& name);

  std::vector<NamedParameter> parameters_;
  std::vector<NamedBuffer> buffers_;
  std::vector<NamedModule> modules_;
  std::unordered_set<std::string> names_;  // of all three
};

}  // namespace halftone::nn
