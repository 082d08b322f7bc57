/* helper.h: the helper thread of this rank, which serves peers, watches for deaths, and makes progress on triggered
 * operations and long messages while the program computes. */
#pragma once

#include "boot/helper.h"

extern struct tern_helper tern_core_helper;

/* Call before anything uses the thread. */
void tern_core_helper_open(void);

/* Let the thread serve the peers that cannot access this rank's memory directly, and look for deaths. Any thread. */
tern_status tern_core_service_start(void);
