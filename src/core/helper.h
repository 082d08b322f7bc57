/* helper.h: the helper thread of this rank, which serves peers, watches for deaths, and makes progress on triggered
 * operations and long messages while the program computes. */
#pragma once

#include "boot/helper.h"

extern struct tern_helper tern_core_helper;

/* Give the thread the bell of this rank, before anything uses the thread. */
void tern_core_helper_open(void);

/* Let the thread serve the peers that cannot access this rank's memory directly, and watch for deaths. Any thread may
 * call this. */
tern_status tern_core_service_start(void);
