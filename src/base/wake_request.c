/* wake_request.c: see wake_request.h. */
#include "base/wake_request.h"

struct tern_wake_requests tern_base_wake_requests;
