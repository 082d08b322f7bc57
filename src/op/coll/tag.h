/* tag.h: the tags of the messages of collective operations. A tag contains the number of the call on the team, and as
 * much of the description of the call (struct tern_coll_says) as there is space for, so that a rank that finds a
 * message of another call can name the difference. */
#pragma once

#include "op/coll/coll.h"

#define TAG_NUMBER 0xfffffffull /* the bits of the number: at no time are more calls outstanding */

/* The positions of call (5 bits), form (1), kind (10), root (6) and digest (12): 62 bits in all, as tags have. */
enum { TAG_CALL = 28, TAG_FORM = 33, TAG_KIND = 34, TAG_ROOT = 44, TAG_DIGEST = 50 };
#define TAG_ROOTS 62 /* roots from this one on appear only in the digest */

/* Numbers in the place of a call: messages that compare calls (check.h), and messages that report a failure. */
enum { TAG_COMPARES = 30, TAG_GIVES_UP = 31 };
_Static_assert((int)TERN_COLL_COUNT <= (int)TAG_COMPARES, "calls fit into a tag");

static inline uint64_t tag_make(uint32_t number, const struct tern_coll_says *says)
{
    uint64_t root = says->root < TAG_ROOTS ? (uint64_t)(says->root + 1) : TAG_ROOTS + 1, digest = says->digest;

    digest ^= digest >> 32;
    digest ^= digest >> 16;
    return (number & TAG_NUMBER) | (uint64_t)says->call << TAG_CALL | (uint64_t)says->blocks << TAG_FORM |
           (uint64_t)says->kind << TAG_KIND | root << TAG_ROOT | (digest & 0xfff) << TAG_DIGEST;
}

static inline uint64_t tag_special(uint64_t tag, unsigned call)
{
    return (tag & TAG_NUMBER) | (uint64_t)call << TAG_CALL;
}

static inline unsigned tag_call(uint64_t tag)
{
    return tag >> TAG_CALL & 0x1f;
}

/* Return the description that the tag contains. The amount and, in large teams, the root are unknown. */
static inline struct tern_coll_says tag_read(uint64_t tag)
{
    struct tern_coll_says says = { .call = (uint8_t)tag_call(tag),
                                   .blocks = tag >> TAG_FORM & 1,
                                   .kind = tag >> TAG_KIND & 0x3ff,
                                   .root = (int32_t)(tag >> TAG_ROOT & 0x3f) - 1,
                                   .unknown = TERN_COLL_SAYS_AMOUNT };

    if (says.root >= TAG_ROOTS)
        says.unknown |= TERN_COLL_SAYS_ROOT;
    return says;
}
