/* request.h: what the calls on tagged messages share with those on their requests. */
#ifndef TERN_API_REQUEST_H
#define TERN_API_REQUEST_H

#include "op/tagged/tagged.h"

/* tern_request_wait, of a request that is started, by the call that errors name. */
tern_status tern_api_request_wait(tern_request **request, tern_deadline deadline, tern_message_info *info,
                                  const char *what);

/* A send could not be started. */
tern_status tern_api_send_refused(tern_status st, const struct tern_request *request, const char *what);

/* Nobody is left who could send what is asked for. */
tern_status tern_api_deserted(const struct tern_match_name *name, const char *what);

#endif
