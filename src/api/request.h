/* request.h: functions that the calls on tagged messages share with those on requests. */
#pragma once

#include "op/tagged/tagged.h"

/* Wait for a started request, like tern_request_wait. what is the public call that errors name. */
tern_status tern_api_request_wait(tern_request **request, tern_deadline deadline, tern_message_info *info,
                                  const char *what);

/* Report that a send could not be started. */
tern_status tern_api_send_refused(tern_status st, const struct tern_request *request, const char *what);

/* Report that every rank that could send a matching message is dead. */
tern_status tern_api_deserted(const struct tern_match_name *name, const char *what);
