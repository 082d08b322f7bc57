/* helper.h: progress on collective operations while the program computes or sleeps. */
#pragma once

#include "op/coll/coll.h"

/* Add a station to the list that the helper thread polls, or remove it. Any thread may call this. */
void tern_op_coll_helper_join(struct tern_station *station);
void tern_op_coll_helper_leave(struct tern_station *station);

/* Wake the helper thread, because an operation was started. urgent: the thread must make progress at once, unless the
 * program does so in the meantime. */
void tern_op_coll_helper_wake(bool urgent);

/* Start the helper thread, if the options permit it. */
tern_status tern_op_coll_help(void);

/* Wait until the nonblocking operations have ended, because the program leaves the job. */
tern_status tern_op_coll_leave(void);
