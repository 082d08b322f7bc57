/* wake_request.c: the counts of wake requests of this process. See wake_request.h. */
#include "base/wake_request.h"

struct tern_wake_requests tern_base_wake_requests;
