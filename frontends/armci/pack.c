/* pack.c: boxes of local memory: packing into a buffer, unpacking, and iteration over segments. */
#include "state.h"

/* Copy between a box and a buffer in which the segments follow each other. */
static void pack(const char *call, void *ptr, int levels, const int *strides, const int *count, char *buf, bool write)
{
    int                   dense[ARMCI_MAX_STRIDE_LEVEL], bytes = 1;
    struct tern_armci_box box = {
        .src = write ? ptr : buf, .dst = write ? buf : ptr, .count = count, .levels = levels
    };

    box.src_stride = write ? strides : dense;
    box.dst_stride = write ? dense : strides;
    if (!tern_armci_check_box(call, &box))
        return;
    for (int i = 0; i < levels; i++) {
        if (__builtin_mul_overflow(bytes, count[i], &bytes))
            tern_front_die(call, "the box is larger than 2 GB");
        dense[i] = bytes;
    }
    tern_armci_copy_box(&box);
}

/* Write a box to a buffer. */
ARMCI_EXPORT void armci_write_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf)
{
    pack("armci_write_strided", ptr, stride_levels, stride_arr, count, buf, true);
}

/* Read a box from a buffer. */
ARMCI_EXPORT void armci_read_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf)
{
    pack("armci_read_strided", ptr, stride_levels, stride_arr, count, buf, false);
}

/* Check the address of an iterator. */
static void check_iterator(const char *call, const stride_info_t *sinfo)
{
    if (TERN_UNLIKELY(sinfo == NULL))
        tern_front_die(call, "the iterator is NULL");
}

ARMCI_EXPORT void armci_stride_info_init(stride_info_t *sinfo, void *base_ptr, int stride_levels, const int *stride_arr,
                                         const int *seg_count)
{
    const char           *call = "armci_stride_info_init";
    struct tern_armci_box box = { .src = base_ptr,
                                  .src_stride = stride_arr,
                                  .dst = base_ptr,
                                  .dst_stride = stride_arr,
                                  .count = seg_count,
                                  .levels = stride_levels };
    bool                  any = tern_armci_check_box(call, &box);

    check_iterator(call, sinfo);
    *sinfo = (stride_info_t){ .base_ptr = base_ptr, .stride_levels = stride_levels, .size = any ? 1 : 0 };
    sinfo->seg_count[0] = seg_count[0];
    for (int i = 0; i < stride_levels; i++) {
        sinfo->stride_arr[i] = stride_arr[i];
        sinfo->seg_count[i + 1] = seg_count[i + 1];
        if (any && __builtin_mul_overflow(sinfo->size, seg_count[i + 1], &sinfo->size))
            tern_front_die(call, "the box has more than 2147483647 segments");
    }
}

/* An iterator has no memory of its own; its use ends here. */
ARMCI_EXPORT void armci_stride_info_destroy(stride_info_t *sinfo)
{
    check_iterator("armci_stride_info_destroy", sinfo);
    sinfo->size = sinfo->pos = 0;
}

ARMCI_EXPORT int armci_stride_info_size(stride_info_t *sinfo)
{
    check_iterator("armci_stride_info_size", sinfo);
    return sinfo->size;
}

ARMCI_EXPORT int armci_stride_info_pos(stride_info_t *sinfo)
{
    check_iterator("armci_stride_info_pos", sinfo);
    return sinfo->pos;
}

ARMCI_EXPORT void armci_stride_info_next(stride_info_t *sinfo)
{
    check_iterator("armci_stride_info_next", sinfo);
    if (sinfo->pos >= sinfo->size)
        tern_front_die("armci_stride_info_next", "there are only %d segments", sinfo->size);
    sinfo->pos++;
    for (int i = 0; i < sinfo->stride_levels; i++) {
        if (++sinfo->itr[i] < sinfo->seg_count[i + 1])
            break;
        sinfo->itr[i] = 0;
    }
}

ARMCI_EXPORT void *armci_stride_info_seg_ptr(stride_info_t *sinfo)
{
    char *ptr;

    check_iterator("armci_stride_info_seg_ptr", sinfo);
    ptr = sinfo->base_ptr;
    if (sinfo->pos >= sinfo->size)
        tern_front_die("armci_stride_info_seg_ptr", "there are only %d segments", sinfo->size);
    for (int i = 0; i < sinfo->stride_levels; i++)
        ptr += (ptrdiff_t)sinfo->itr[i] * sinfo->stride_arr[i];
    return ptr;
}

ARMCI_EXPORT int armci_stride_info_seg_size(stride_info_t *sinfo)
{
    check_iterator("armci_stride_info_seg_size", sinfo);
    return sinfo->seg_count[0];
}

ARMCI_EXPORT int armci_stride_info_has_more(stride_info_t *sinfo)
{
    check_iterator("armci_stride_info_has_more", sinfo);
    return sinfo->pos < sinfo->size;
}
