/* want.c: see want.h. */
#include "base/want.h"

struct tern_wants tern_base_wants;
