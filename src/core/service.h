/* service.h: the thread that helps peers and watches for their deaths. */
#ifndef TERN_CORE_SERVICE_H
#define TERN_CORE_SERVICE_H

#include "base/status.h"

/* Start the thread unless it runs. Any thread. */
tern_status tern_core_service_start(void);

/* Stop the thread if it runs. */
void tern_core_service_stop(void);

#endif
