/* pmix_none.c: replaces pmix.c in a build without the PMIx headers. */
#include "boot/pmi.h"

static tern_status none_open(struct tern_pmi **out)
{
    (void)out;
    return tern_base_fail(TERN_ERR_BOOT,
                          "the launcher offers PMIx, which this Tern was built without; build Tern where "
                          "pmix.h is installed (Debian: libpmix-dev), or start the job with ternrun");
}

/* No other function is called after a failed open. */
const struct tern_pmi_ops tern_boot_pmix = { .open = none_open };
