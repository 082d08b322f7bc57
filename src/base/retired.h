/* retired.h: memory of freed objects that stays valid for a while, so that a call with a freed object is reported.
 *
 * An object that the program has freed is marked by its owner and appended to a queue. The memory of an object is used
 * again, for an object of the same kind, only after TERN_RETIRED_KEPT other objects have been freed. The memory never
 * returns to the system: its amount follows from the largest number of objects that have existed at the same time. */
#pragma once

#include <pthread.h>

#include "base/list.h"

#define TERN_RETIRED_KEPT 64

struct tern_retired {
    pthread_mutex_t  lock; /* guards the fields that follow */
    struct tern_list list; /* oldest first */
    unsigned         count;
};

#define TERN_RETIRED_INIT(name)                                                \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .list = TERN_LIST_INIT((name).list) \
    }

/* Append a freed object, which is on no list, by its node. Any thread may call this. */
void tern_base_retire(struct tern_retired *retired, struct tern_list *node);

/* Return the node of the object that was freed first, for reuse; NULL: too few objects have been freed. Any thread may
 * call this. */
struct tern_list *tern_base_retired_reuse(struct tern_retired *retired);
