/* tern.h: the public interface of Tern. Programs include this header.
 *
 * Each concept has its own header in include/tern/, which begins with an introduction. The comment above each
 * declaration is its contract, in a fixed order: what the call does, what it returns, its effect at the target, and
 * which threads may call it. The manual pages are generated from these comments.
 */
#ifndef TERN_H
#define TERN_H

#include <tern/version.h>
#include <tern/status.h>
#include <tern/job.h>
#include <tern/team.h>
#include <tern/context.h>
#include <tern/region.h>
#include <tern/event.h>
#include <tern/rma.h>
#include <tern/value.h>
#include <tern/shape.h>
#include <tern/type.h>
#include <tern/atomic.h>
#include <tern/acc.h>
#include <tern/mutex.h>
#include <tern/sync.h>
#include <tern/coll.h>
#include <tern/wait.h>
#include <tern/am.h>
#include <tern/am_client.h>
#include <tern/request.h>
#include <tern/notify.h>
#include <tern/signal.h>
#include <tern/counter.h>
#include <tern/tagged.h>

#endif
