/* version.c: the version of this library. */
#include <tern/version.h>

const char *tern_version(void)
{
    return TERN_VERSION;
}
