/* thread.h: the helper thread, which makes progress on engines while the program computes. */
#ifndef TERN_OP_TRIGGER_THREAD_H
#define TERN_OP_TRIGGER_THREAD_H

#include "op/trigger/engine.h"

/* Add an engine to the helper thread's list, and remove an engine that is about to be closed. */
void tern_op_helper_join(struct tern_engine *engine);
void tern_op_helper_leave(struct tern_engine *engine);

/* Start the helper thread, unless it is running or disabled (TERN_PROGRESS_THREAD). */
tern_status tern_op_helper_start(void);

/* Wake the helper thread because an engine has work to do. */
void tern_op_helper_wake(void);

/* Stop the helper thread, because the program is about to leave the job. */
void tern_op_helper_stop(void);

#endif
