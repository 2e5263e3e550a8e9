// The name of an argument, for messages.
#pragma once

namespace halftone::capi {

// The name of a public function's parameter; "" where no public header declares the function or it has fewer
// parameters.
const char* parameter_name(const char* function, int position) noexcept;

// Either a name, or the place of a parameter. A place costs nothing until an error asks for its name.
class ArgumentName {
 public:
  ArgumentName(const char* name) noexcept : text_(name) {}
  ArgumentName(const char* function, int position) noexcept : text_(function), position_(position) {}

  // REQUIRES: the place of a parameter.
  ArgumentName next() const noexcept { return {text_, position_ + 1}; }
  const char* text() const noexcept { return position_ < 0 ? text_ : parameter_name(text_, position_); }

 private:
  const char* text_;
  int position_ = -1;
};

}  // namespace halftone::capi
