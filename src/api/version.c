/* version.c: which Tern this is. */
#include <tern/version.h>

const char *tern_version(void)
{
    return TERN_VERSION;
}
