// Handles of modules and of their parameters.
#pragma once

#include "base/objects.h"

struct htone_module;
struct htone_parameter;
struct htone_parameters;

namespace halftone {
class Parameter;     // autograd/parameter.h
class ParameterSet;  // autograd/parameter_set.h
}  // namespace halftone
namespace halftone::nn {
class Module;  // nn/module.h
}

namespace halftone::capi {

template <>
struct HandleTraits<htone_parameter> : HandleTo<Ref<Parameter>, HandleType::kParameter> {};
template <>
struct HandleTraits<htone_parameters> : HandleTo<Ref<ParameterSet>, HandleType::kParameters> {};
template <>
struct HandleTraits<htone_module> : HandleTo<Ref<nn::Module>, HandleType::kModule> {};

}  // namespace halftone::capi
