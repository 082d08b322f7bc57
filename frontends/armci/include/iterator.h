/* iterator.h: an iterator over the segments of a box, by the names of the original ARMCI. It is a stride_info_t
 * (armci.h) that armci_stride_itr_init allocates and armci_stride_itr_destroy frees. */
#ifndef TERN_ARMCI_ITERATOR_H
#define TERN_ARMCI_ITERATOR_H

#include <armci.h>

/* An iterator. */
typedef void *stride_itr_t;

/* Make an iterator that stands at the first segment. NULL: there is not enough memory. */
static inline stride_itr_t armci_stride_itr_init(void *base_ptr, int stride_levels, const int *stride_arr,
                                                 const int *seg_count)
{
    stride_info_t *info = (stride_info_t *)malloc(sizeof *info);

    if (info != NULL)
        armci_stride_info_init(info, base_ptr, stride_levels, stride_arr, seg_count);
    return info;
}

/* Free an iterator, and set it to NULL. */
static inline void armci_stride_itr_destroy(stride_itr_t *psitr)
{
    free(*psitr);
    *psitr = NULL;
}

/* The number of segments, by two names. */
static inline int armci_stride_itr_size(stride_itr_t sitr)
{
    return armci_stride_info_size((stride_info_t *)sitr);
}

static inline int armci_stride_itr_count(stride_itr_t sitr)
{
    return armci_stride_info_size((stride_info_t *)sitr);
}

/* The index of the current segment. */
static inline int armci_stride_itr_pos(stride_itr_t sitr)
{
    return armci_stride_info_pos((stride_info_t *)sitr);
}

/* Go to the next segment. */
static inline void armci_stride_itr_next(stride_itr_t sitr)
{
    armci_stride_info_next((stride_info_t *)sitr);
}

/* Return whether there is a current segment. */
static inline int armci_stride_itr_has_more(stride_itr_t sitr)
{
    return armci_stride_info_has_more((stride_info_t *)sitr);
}

/* The address of the current segment, its length, and its distance from the beginning of the box in bytes. */
static inline void *armci_stride_itr_seg_ptr(stride_itr_t sitr)
{
    return armci_stride_info_seg_ptr((stride_info_t *)sitr);
}

static inline int armci_stride_itr_seg_size(stride_itr_t sitr)
{
    return armci_stride_info_seg_size((stride_info_t *)sitr);
}

static inline int armci_stride_itr_seg_off(stride_itr_t sitr)
{
    stride_info_t *info = (stride_info_t *)sitr;

    return (int)((char *)armci_stride_info_seg_ptr(info) - info->base_ptr);
}

#endif
