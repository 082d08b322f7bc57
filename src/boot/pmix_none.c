/* pmix_none.c: takes the place of pmix.c where Tern is built without the headers of PMIx. */
#include "boot/pmi.h"

static tern_status none_open(struct tern_pmi **out)
{
    (void)out;
    return tern_base_fail(TERN_ERR_BOOT,
                          "the launcher offers PMIx, which this Tern was built without; build Tern where "
                          "pmix.h is installed (Debian: libpmix-dev), or start the job with ternrun");
}

/* Nothing is called after an open that failed. */
const struct tern_pmi_ops tern_boot_pmix = { .name = "PMIx", .open = none_open };
