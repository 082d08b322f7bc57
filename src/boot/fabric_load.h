/* fabric_load.h: loads and initializes libfabric, at a low cost for each rank of a node. */
#pragma once

/* Load libfabric and initialize it, with the signal handlers of the program unchanged. The library is never unloaded.
 * Returns its handle, or NULL after a failure, which dlerror() describes if it is called by the same thread. */
void *tern_boot_fabric_load(const char *library);
