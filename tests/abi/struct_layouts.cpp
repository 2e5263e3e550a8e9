#include "struct_layouts.h"
