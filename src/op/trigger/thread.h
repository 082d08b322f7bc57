/* thread.h: the thread that works for engines while the program computes. */
#ifndef TERN_OP_TRIGGER_THREAD_H
#define TERN_OP_TRIGGER_THREAD_H

#include "op/trigger/engine.h"

/* An engine is there, and is about to be closed. */
void tern_op_helper_join(struct tern_engine *engine);
void tern_op_helper_leave(struct tern_engine *engine);

/* Start the thread, unless it runs or is not wanted (TERN_PROGRESS_THREAD). */
tern_status tern_op_helper_start(void);

/* An engine has something to do. */
void tern_op_helper_wake(void);

/* Stop the thread: the program is about to leave the job. */
void tern_op_helper_stop(void);

#endif
