/* sanitize.c: the address that stands for ordering through other ranks. See sanitize.h. */
#include "base/sanitize.h"

char tern_base_peers;
