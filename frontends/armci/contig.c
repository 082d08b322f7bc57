/* contig.c: contiguous put and get. */
#include "state.h"

bool tern_armci_is_empty(const struct tern_armci_op *op, const void *local, int bytes)
{
    if (bytes < 0)
        tern_front_die(op->call, "the number of bytes is %d; it must not be negative", bytes);
    if (bytes > 0 && local == NULL)
        tern_front_die(op->call, "the local address of %d bytes is NULL", bytes);
    if (bytes == 0)
        tern_armci_set_done(op->call, op->handle);
    return bytes == 0;
}

/* Put to any rank. remote is the address at the rank. */
static int put(const struct tern_armci_op *op, const void *src, void *remote, int bytes)
{
    struct tern_armci_place place;
    struct tern_armci_end   end;

    if (tern_armci_is_empty(op, src, bytes))
        return 0;
    if (tern_armci.near[op->proc]) {
        tern_armci_check_near(op->call, op->proc, remote, (size_t)bytes);
        tern_armci_set_done(op->call, op->handle);
        tern_armci_release();
        tern_armci_copy(remote, src, (size_t)bytes);
        tern_armci_release();
        return 0;
    }
    place = tern_armci_find(op->call, op->proc, remote);
    return tern_armci_finish(op, &end,
                             tern_put_with(tern_armci.far_ctx, place.region, op->proc, place.offset, src, (size_t)bytes,
                                           tern_armci_opts(op, &end)));
}

static int get(const struct tern_armci_op *op, const void *remote, void *dst, int bytes)
{
    struct tern_armci_place place;
    struct tern_armci_end   end;

    if (tern_armci_is_empty(op, dst, bytes))
        return 0;
    if (tern_armci.near[op->proc]) {
        tern_armci_check_near(op->call, op->proc, remote, (size_t)bytes);
        tern_armci_set_done(op->call, op->handle);
        tern_armci_copy(dst, remote, (size_t)bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* later loads of this thread come after the data */
        return 0;
    }
    place = tern_armci_find(op->call, op->proc, remote);
    return tern_armci_finish(op, &end,
                             tern_get_with(tern_armci.far_ctx, place.region, op->proc, place.offset, dst, (size_t)bytes,
                                           tern_armci_opts(op, &end)));
}

static __attribute__((noinline)) int slow_put(const char *call, void *src, void *dst, int bytes, int proc)
{
    struct tern_armci_op op = tern_armci_blocking(call, proc, false);

    return put(&op, src, dst, bytes);
}

static __attribute__((noinline)) int slow_get(const char *call, void *src, void *dst, int bytes, int proc)
{
    struct tern_armci_op op = tern_armci_blocking(call, proc, true);

    return get(&op, src, dst, bytes);
}

ARMCI_EXPORT int PARMCI_Put(void *src, void *dst, int size, int target)
{
    if (TERN_UNLIKELY(!tern_armci_at_hand(target, dst, size) || src == NULL))
        return slow_put("ARMCI_Put", src, dst, size, target);
    tern_armci_release();
    tern_armci_copy(dst, src, (size_t)size);
    tern_armci_release();
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Put, PARMCI_Put);

ARMCI_EXPORT int PARMCI_Get(void *src, void *dst, int size, int target)
{
    if (TERN_UNLIKELY(!tern_armci_at_hand(target, src, size) || dst == NULL))
        return slow_get("ARMCI_Get", src, dst, size, target);
    tern_armci_copy(dst, src, (size_t)size);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* later loads of this thread come after the data */
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Get, PARMCI_Get);

ARMCI_EXPORT int PARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl)
{
    struct tern_armci_op op;

    if (tern_armci_at_hand(proc, dst, bytes) && src != NULL) {
        tern_armci_set_done("ARMCI_NbPut", hdl);
        return PARMCI_Put(src, dst, bytes, proc);
    }
    op = tern_armci_nonblocking("ARMCI_NbPut", proc, false, hdl);
    return put(&op, src, dst, bytes);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbPut, PARMCI_NbPut);

ARMCI_EXPORT int PARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl)
{
    struct tern_armci_op op;

    if (tern_armci_at_hand(proc, src, bytes) && dst != NULL) {
        tern_armci_set_done("ARMCI_NbGet", hdl);
        return PARMCI_Get(src, dst, bytes, proc);
    }
    op = tern_armci_nonblocking("ARMCI_NbGet", proc, true, hdl);
    return get(&op, src, dst, bytes);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbGet, PARMCI_NbGet);

ARMCI_EXPORT void ARMCI_Copy(void *src, void *dst, int size)
{
    if (size < 0)
        tern_front_die("ARMCI_Copy", "the number of bytes is %d; it must not be negative", size);
    if (size > 0 && (src == NULL || dst == NULL))
        tern_front_die("ARMCI_Copy", "%d bytes from %p to %p: an address is NULL", size, src, dst);
    if (size > 0)
        tern_copy(dst, src, (size_t)size);
}

/* Calls for single values: each type has a put, a nonblocking put and a get. The nonblocking put makes the put, because
 * its source, which is on the stack, must be reusable when it returns. */
#define VALUE_CALLS(Name, type)                                                               \
    ARMCI_EXPORT int PARMCI_PutValue##Name(type src, void *dst, int proc)                     \
    {                                                                                         \
        if (TERN_UNLIKELY(!tern_armci_at_hand(proc, dst, (int)sizeof src)))                   \
            return slow_put("ARMCI_PutValue" #Name, &src, dst, (int)sizeof src, proc);        \
        tern_armci_release();                                                                 \
        __builtin_memcpy(dst, &src, sizeof src);                                              \
        tern_armci_release();                                                                 \
        return 0;                                                                             \
    }                                                                                         \
    ARMCI_EXPORT     ARMCI_WEAK(ARMCI_PutValue##Name, PARMCI_PutValue##Name);                 \
    ARMCI_EXPORT int PARMCI_NbPutValue##Name(type src, void *dst, int proc, armci_hdl_t *hdl) \
    {                                                                                         \
        tern_armci_check_rank("ARMCI_NbPutValue" #Name, proc);                                \
        tern_armci_set_done("ARMCI_NbPutValue" #Name, hdl);                                   \
        return PARMCI_PutValue##Name(src, dst, proc);                                         \
    }                                                                                         \
    ARMCI_EXPORT      ARMCI_WEAK(ARMCI_NbPutValue##Name, PARMCI_NbPutValue##Name);            \
    ARMCI_EXPORT type PARMCI_GetValue##Name(void *src, int proc)                              \
    {                                                                                         \
        type value;                                                                           \
        if (TERN_UNLIKELY(!tern_armci_at_hand(proc, src, (int)sizeof value))) {               \
            (void)slow_get("ARMCI_GetValue" #Name, src, &value, (int)sizeof value, proc);     \
            return value;                                                                     \
        }                                                                                     \
        __builtin_memcpy(&value, src, sizeof value);                                          \
        __atomic_thread_fence(__ATOMIC_ACQUIRE);                                              \
        return value;                                                                         \
    }                                                                                         \
    ARMCI_EXPORT ARMCI_WEAK(ARMCI_GetValue##Name, PARMCI_GetValue##Name)

VALUE_CALLS(Int, int);
VALUE_CALLS(Long, long);
VALUE_CALLS(Float, float);
VALUE_CALLS(Double, double);
