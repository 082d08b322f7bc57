/* upcalls.c: see upcalls.h. */
#include "op/upcalls.h"

#include "core/context.h"
#include "core/job.h"
#include "core/message.h"
#include "op/am/am.h"
#include "op/notify/notify.h"
#include "op/rpc_serve.h"
#include "op/tagged/tagged.h"

const struct tern_link_up tern_op_upcalls = {
    .done = tern_core_op_done,
    .message = tern_op_am_receive,
    .notify = tern_op_notify_receive,
    .notify_head = tern_op_notify_write_head,
    .tagged = tern_op_tagged_receive,
    .helped = tern_op_am_receive_helped,
    .watch = tern_core_message_watch,
    .serve = tern_op_rpc_serve,
    .gone = tern_core_job_gone,
};
