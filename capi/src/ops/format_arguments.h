// Formats and roundings as the C API names them, for the calls that round.
#pragma once

#include "backend/formula/round_to_format.h"
#include "halftone/format.h"

namespace halftone::capi {

// Throws INVALID_ARGUMENT for HTONE_FORMAT_CUSTOM, whose bits are in options, and for a number that is no format.
FormatBits named_format(htone_format format);
// `options` may be NULL. Throws INVALID_ARGUMENT, UNSUPPORTED.
FormatRounding format_rounding(htone_format format, const htone_round_options* options);

}  // namespace halftone::capi
