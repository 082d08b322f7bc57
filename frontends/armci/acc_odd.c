/* acc_odd.c: accumulates to elements that are not aligned to their size, which Tern's accumulates refuse.
 *
 * The strides of ARMCI count bytes, so a program can choose addresses that are not aligned. The origin fetches the
 * elements, adds to them, and puts them back, while it holds a mutex at the target. These accumulates are therefore
 * atomic with respect to each other. Aligned segments of a box are accumulated by Tern even if other segments are not
 * aligned, as in other accumulates to the same elements.
 */
#include <stdlib.h>
#include <string.h>

#include "state.h"

static tern_mutexes *mutexes; /* one at each rank */

void tern_armci_start_odd(const char *call)
{
    tern_front_check(tern_mutex_create(tern_armci.near_ctx, 1, &mutexes), call, "creating the mutexes of accumulates");
}

void tern_armci_stop_odd(const char *call)
{
    tern_front_check(tern_mutex_free(mutexes), call, "freeing the mutexes of accumulates");
    mutexes = NULL;
}

/* Add the scaled elements at y, of any alignment, to those at x, which are aligned. Sums of integers wrap around. */
#define ADD(type)                                                      \
    for (size_t i = 0; i < bytes / sizeof(type); i++) {                \
        type *to = (type *)x + i, from, scale;                         \
                                                                       \
        memcpy(&from, (const char *)y + i * sizeof from, sizeof from); \
        if (args->factor != NULL) {                                    \
            memcpy(&scale, args->factor, sizeof scale);                \
            from *= scale;                                             \
        }                                                              \
        *to += from;                                                   \
    }                                                                  \
    break

static void add(const tern_acc_args *args, void *x, const void *y, size_t bytes)
{
    switch (args->type) {
    case TERN_INT32: ADD(uint32_t);
    case TERN_INT64: ADD(uint64_t);
    case TERN_FLOAT: ADD(float);
    case TERN_DOUBLE: ADD(double);
    case TERN_COMPLEX_FLOAT: ADD(float _Complex);
    default: ADD(double _Complex);
    }
}

/* Accumulate one segment. The caller holds the mutex; buffer is as long as the segment. */
static void add_segment(const struct tern_armci_op *op, const void *src, const void *dst, size_t bytes, void *buffer)
{
    struct tern_armci_place place = tern_armci_find(op->call, op->proc, dst);

    if (!tern_armci_is_odd(op->acc, (uintptr_t)dst)) {
        tern_front_check(tern_acc(tern_armci.far_ctx, place.region, op->proc, place.offset, src, bytes, op->acc),
                         op->call, "the operation");
        return;
    }
    tern_front_check(tern_get(tern_armci.far_ctx, place.region, op->proc, place.offset, buffer, bytes), op->call,
                     "fetching the elements");
    add(op->acc, buffer, src, bytes);
    tern_front_check(tern_put(tern_armci.far_ctx, place.region, op->proc, place.offset, buffer, bytes), op->call,
                     "putting the elements back");
}

void tern_armci_acc_odd(const struct tern_armci_op *op, const struct tern_armci_box *box)
{
    size_t        bytes = (size_t)box->count[0], element = tern_armci_part_bytes(op->acc);
    void         *buffer;
    stride_info_t from, to;

    if (op->acc->type == TERN_COMPLEX_FLOAT || op->acc->type == TERN_COMPLEX_DOUBLE)
        element *= 2;
    if (bytes % element != 0)
        tern_front_die(op->call, "a piece of %zu bytes does not consist of whole elements of %zu bytes", bytes,
                       element);
    buffer = tern_front_alloc(op->call, bytes, 1);
    armci_stride_info_init(&from, box->src, box->levels, box->src_stride, box->count);
    armci_stride_info_init(&to, box->dst, box->levels, box->dst_stride, box->count);
    tern_front_check(tern_armci_lock_mutex(mutexes, op->proc, 0), op->call, "locking a mutex");
    while (armci_stride_info_has_more(&to)) {
        add_segment(op, armci_stride_info_seg_ptr(&from), armci_stride_info_seg_ptr(&to), bytes, buffer);
        armci_stride_info_next(&from);
        armci_stride_info_next(&to);
    }
    tern_front_check(tern_mutex_unlock(tern_armci.far_ctx, mutexes, op->proc, 0), op->call, "unlocking a mutex");
    free(buffer);
}
