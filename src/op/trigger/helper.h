/* helper.h: progress on engines by the helper thread while the program computes. */
#pragma once

#include "op/trigger/engine.h"

/* Add an engine to the list of engines that the helper thread polls, and remove an engine that is about to be
 * closed. */
void tern_op_helper_join(struct tern_engine *engine);
void tern_op_helper_leave(struct tern_engine *engine);

/* Let the helper thread poll the engines, unless TERN_PROGRESS_THREAD disables the thread. */
tern_status tern_op_helper_start(void);

/* Wake the helper thread because an engine has work to do. */
void tern_op_helper_wake(void);

/* Keep the helper thread from polling engines, because the program is about to leave the job. */
void tern_op_helper_stop(void);
