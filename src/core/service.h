/* service.h: the thread that serves peers and watches for their deaths. */
#ifndef TERN_CORE_SERVICE_H
#define TERN_CORE_SERVICE_H

#include "base/status.h"

/* Start the thread unless it is running. Any thread. */
tern_status tern_core_service_start(void);

/* Stop the thread if it is running. */
void tern_core_service_stop(void);

#endif
