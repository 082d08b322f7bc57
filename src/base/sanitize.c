/* sanitize.c: see sanitize.h. */
#include "base/sanitize.h"

char tern_base_peers;
