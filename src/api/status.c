/* status.c: the texts of statuses, generated from the list in the public header. */
#include <tern/status.h>

#include "base/status.h"

const char *tern_strerror(tern_status status)
{
    switch (status) {
#define AS_CASE(name, value, text) \
    case name: return text;
        TERN_STATUS_LIST(AS_CASE)
#undef AS_CASE
    case TERN_STATUS_RESERVED: break;
    }
    return "not a status of Tern";
}

const char *tern_error_detail(void)
{
    return tern_base_detail();
}
