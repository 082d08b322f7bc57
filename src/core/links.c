/* links.c: which links a job opens, and which of them serves which rank.
 *
 * The links of the registry are tried in order, best first, until every rank is served: a job on one node never opens
 * the network. The option TERN_LINKS names the links that may carry data. A link that the option does not name is
 * opened nevertheless if it provides the groups of the node's ranks; it then serves no rank. The self link is always
 * allowed. */
#include "core/links.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "core/context.h"
#include "core/job.h"
#include "core/message.h"

#define UNSERVED UINT8_MAX

/* Tables of the registry's links, or of the chaos links in front of them. */
static const struct tern_link_ops *tables[TERN_LINKS_MAX];

static unsigned allowed; /* bit i: link i of the registry may carry data */

/* Read TERN_LINKS, a comma-separated list of links. The self link is the first of the registry. */
static tern_status read_option(void)
{
    allowed = *tern_opt.links == '\0' ? ~0u : 1u;
    for (const char *at = tern_opt.links; *(at += strspn(at, ", ")); at += strcspn(at, ", ")) {
        size_t   len = strcspn(at, ", ");
        unsigned i = 0;

        while (i < tern_links_count &&
               (strlen(tern_links[i]->name) != len || strncmp(at, tern_links[i]->name, len) != 0))
            i++;
        if (i == tern_links_count)
            return tern_base_fail(TERN_ERR_ARG,
                                  "TERN_LINKS: this library has no link \"%.*s\"; tern-info shows those it has",
                                  (int)len, at);
        allowed |= 1u << i;
    }
    return TERN_OK;
}

/* Return whether the ranks of this node need the link for its groups. */
static bool provides_groups(unsigned i)
{
    return tern_links[i]->group && tern_job.boot.locals > 1;
}

static bool is_unserved(int rank)
{
    return tern_job.peer_link[rank] == UNSERVED;
}

/* Return the first rank that no link serves yet; -1: none. */
static int first_unserved(void)
{
    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (is_unserved(rank))
            return rank;
    return -1;
}

/* Let the link that was opened last serve the ranks that it reaches and no better link serves. Returns their number. */
static int serve_reached(void)
{
    unsigned last = tern_job.links - 1;
    int      served = 0;

    for (int rank = 0; rank < tern_job.boot.ranks; rank++) {
        if (is_unserved(rank) && tern_job.ops[last]->reaches(tern_job.link[last], rank)) {
            tern_job.peer_link[rank] = (uint8_t)last;
            served++;
        }
    }
    return served;
}

/* Log which ranks the link that was opened last serves. */
static void tell_served(int served, bool carries)
{
    unsigned    last = tern_job.links - 1;
    const char *name = tern_job.ops[last]->name;
    char        text[64] = "";
    int         first = 0;

    if (served == 0) {
        tern_base_log(TERN_LOG_INFO, "link %s serves no rank: %s", name,
                      !carries ? "TERN_LINKS does not name it, and it only synchronizes the ranks of the node"
                               : "it reaches none that is left");
        return;
    }
    while (tern_job.peer_link[first] != last)
        first++;
    if (served > 1)
        snprintf(text, sizeof(text), " and %d other ranks", served - 1);
    tern_base_log(TERN_LOG_INFO, "link %s serves rank %d%s: it is the best link that reaches them%s", name, first, text,
                  *tern_opt.links ? " and that TERN_LINKS names" : "");
}

static void close_last(void)
{
    tern_job.links--;
    tern_core_message_unwatch(tern_job.link[tern_job.links]);
    tern_job.ops[tern_job.links]->close(tern_job.link[tern_job.links]);
}

/* Open link i of the registry if the job needs it. */
static tern_status link_open(unsigned i)
{
    bool        carries = (allowed & 1u << i) && first_unserved() >= 0;
    tern_status st;
    int         served;

    if (!carries && !provides_groups(i)) {
        tern_base_log(TERN_LOG_INFO, "link %s is not opened: %s", tables[i]->name,
                      first_unserved() < 0 ? "better links serve all ranks" : "TERN_LINKS does not name it");
        return TERN_OK;
    }
    if ((st = tables[i]->open(&tern_job.boot, tern_job.up, &tern_job.link[tern_job.links])) < 0)
        return st;
    if (st == TERN_AGAIN) {
        tern_base_log(TERN_LOG_INFO, "link %s is not opened: link %s serves the ranks better", tables[i]->name,
                      tables[tern_links_count - 1]->name);
        return TERN_OK;
    }
    tern_job.ops[tern_job.links++] = tables[i];
    tern_core_message_polls_links_now |= tables[i]->msg->polled;
    served = carries ? serve_reached() : 0;
    tell_served(served, carries);
    if (served == 0 && !provides_groups(i))
        close_last();
    return TERN_OK;
}

static tern_status unreachable(int rank)
{
    if (*tern_opt.links)
        return tern_base_fail(TERN_ERR_BOOT,
                              "rank %d of the job cannot be reached: TERN_LINKS=%s leaves no link that leads there",
                              rank, tern_opt.links);
    return tern_base_fail(
        TERN_ERR_BOOT,
        "rank %d is on node %u of the job and this rank on node %d, and no link of this library leads "
        "there; run the job on one node",
        rank, tern_core_job_slot(rank)->node, tern_job.boot.node);
}

tern_status tern_core_links_open(void)
{
    tern_status st = read_option();

    if (st == TERN_OK)
        st = tern_core_message_open();
    if (st == TERN_OK)
        st = tern_links_tables(&tern_job.boot, tables);
    memset(tern_job.peer_link, UNSERVED, (size_t)tern_job.boot.ranks);
    for (unsigned i = 0; i < tern_links_count && st == TERN_OK; i++)
        st = link_open(i);
    if (st == TERN_OK && first_unserved() >= 0)
        st = unreachable(first_unserved());
    if (st < 0)
        tern_core_links_close();
    return st;
}

void tern_core_links_close(void)
{
    while (tern_job.links > 0)
        close_last();
    tern_core_message_close();
}

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

tern_status tern_core_links_attach(unsigned link, const struct tern_mem_handle *handle, const char *path_name,
                                   struct tern_link_part *part)
{
    tern_status st;

    pthread_mutex_lock(&one_at_a_time);
    st = tern_job.ops[link]->attach(tern_job.link[link], handle, path_name, part);
    pthread_mutex_unlock(&one_at_a_time);
    return st;
}

tern_status tern_core_links_expose(unsigned link, struct tern_mem_handle *handle)
{
    tern_status st;

    pthread_mutex_lock(&one_at_a_time);
    st = tern_job.ops[link]->expose(tern_job.link[link], handle);
    pthread_mutex_unlock(&one_at_a_time);
    return st;
}

int tern_core_links_atomic(int rank)
{
    for (unsigned i = 0; i < tern_job.links; i++)
        if (tern_job.ops[i]->atomic && tern_job.ops[i]->reaches(tern_job.link[i], rank))
            return (int)i;
    return -1;
}

int64_t tern_core_links_may_sleep(bool memory)
{
    int64_t least = INT64_MAX;

    for (unsigned i = 0; i < tern_job.links; i++) {
        int64_t ns = tern_job.ops[i]->may_sleep(tern_job.link[i], memory);
        least = ns < least ? ns : least;
    }
    return least;
}

void tern_core_links_invalidate(const void *addr, size_t len)
{
    for (unsigned i = 0; i < tern_job.links; i++)
        tern_job.ops[i]->invalidate(tern_job.link[i], addr, len);
}

bool tern_core_links_notify_flushed(bool help)
{
    bool placed = true;

    for (unsigned i = 0; i < tern_job.links; i++)
        if (tern_job.ops[i]->inject)
            placed &= tern_job.ops[i]->inject->notify_flushed(tern_job.link[i], help);
    return placed;
}

bool tern_core_links_msg_flushed(void)
{
    for (unsigned i = 0; i < tern_job.links; i++)
        if (!tern_job.ops[i]->msg->flushed(tern_job.link[i]))
            return false;
    return true;
}
