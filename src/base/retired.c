/* retired.c: the queue of freed objects. See retired.h. */
#include "base/retired.h"

void tern_base_retire(struct tern_retired *retired, struct tern_list *node)
{
    pthread_mutex_lock(&retired->lock);
    tern_base_list_append(&retired->list, node);
    retired->count++;
    pthread_mutex_unlock(&retired->lock);
}

struct tern_list *tern_base_retired_reuse(struct tern_retired *retired)
{
    struct tern_list *node = NULL;

    pthread_mutex_lock(&retired->lock);
    if (retired->count > TERN_RETIRED_KEPT) {
        node = tern_base_list_pop(&retired->list);
        retired->count--;
    }
    pthread_mutex_unlock(&retired->lock);
    if (node)
        tern_base_list_init(node);
    return node;
}
