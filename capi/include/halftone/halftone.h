/* halftone: mixed-precision training of neural networks for C programs. This header includes all others; each of them
 * also stands alone. The conventions of the interface are told in base.h.
 */
#ifndef HALFTONE_HALFTONE_H
#define HALFTONE_HALFTONE_H

#include "halftone/amp.h"
#include "halftone/autograd.h"
#include "halftone/base.h"
#include "halftone/context.h"
#include "halftone/data.h"
#include "halftone/device.h"
#include "halftone/dtype.h"
#include "halftone/grad_scaler.h"
#include "halftone/init.h"
#include "halftone/nn.h"
#include "halftone/ops.h"
#include "halftone/optim.h"
#include "halftone/schedule.h"
#include "halftone/tensor.h"
#include "halftone/version.h"

#endif
