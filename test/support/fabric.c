/* fabric.c: a layer between Tern and libfabric that imposes the restrictions of other providers. See fabric.h.
 *
 * libfabric's objects are tables of functions. The layer copies the tables of the objects that Tern opens, and replaces
 * some functions in the copies by its own. Tern makes every libfabric call under one lock, so the layer needs no lock.
 */
#include "support/fabric.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "boot/fabric.h"

#define PREFIX "strict:" /* prefix of the provider's name: Tern does not know a provider of this name */
#define OPT_INJECT_MSG_SIZE 16
#define OPT_INJECT_RMA_SIZE 18
#define NO_LIMIT SIZE_MAX

static struct {
    const char *text;
    size_t      inject, rma;
    bool        local, endpoint, locks, nowait, mute, again, raw;
    unsigned    lose, late, broken;
    uint64_t    random;
} imposed;

static struct tern_fabric_calls below; /* libfabric's own functions */

/* A memory registration, and libfabric's own object for it. */
struct record {
    struct record *next;
    struct fid_mr *mr;
    struct fi_ops  ops, *ops_below;
    void          *desc_below;
    const char    *from;
    size_t         len;
    bool           bound, enabled;
};

static struct record *records;

static void broke(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void broke(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("test fabric: a rule of the provider was broken: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

/* ---- the imposed restrictions ---- */

static const char *word(const char *name)
{
    size_t      len = strlen(name);
    const char *at = imposed.text;

    while (at && (strncmp(at, name, len) != 0 || (at[len] != '\0' && at[len] != ',' && at[len] != '=')))
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return at ? at + len + (at[len] == '=') : NULL;
}

static size_t number(const char *name, size_t otherwise)
{
    const char *at = word(name);

    return at ? (size_t)strtoull(at, NULL, 10) : otherwise;
}

static bool is_refused(void)
{
    if (!imposed.again)
        return false;
    imposed.random = imposed.random * 6364136223846793005u + 1442695040888963407u;
    return imposed.random >> 62 == 0;
}

/* ---- descriptors ---- */

/* Check that the descriptor's registration covers the memory. Returns libfabric's own descriptor. */
static void *check_desc(void *desc, const void *from, size_t len, const char *call)
{
    const struct record *r = records;

    while (r && r != desc)
        r = r->next;
    if (!r && imposed.local)
        broke("%s of %zu bytes at %p, without a descriptor of an open registration", call, len, from);
    if (!r)
        return NULL;
    if ((const char *)from < r->from || len > r->len || (size_t)((const char *)from - r->from) > r->len - len)
        broke("%s of %zu bytes at %p, with a descriptor of %zu bytes at %p", call, len, from, r->len,
              (const void *)r->from);
    if (imposed.endpoint && !r->enabled)
        broke("%s with a registration that is not enabled", call);
    return r->desc_below;
}

static int mr_close(struct fid *fid)
{
    struct record **at = &records, *r;

    while (*at && &(*at)->mr->fid != fid)
        at = &(*at)->next;
    r = *at;
    if (!r)
        broke("a registration is closed twice");
    *at = r->next;
    fid->ops = r->ops_below;
    free(r);
    return fid->ops->close(fid);
}

static struct record *record_of(const struct fid *fid)
{
    struct record *r = records;

    while (r && &r->mr->fid != fid)
        r = r->next;
    return r;
}

static int mr_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    (void)flags;
    if (to->fclass != FI_CLASS_EP)
        broke("a registration is bound to something else than an endpoint");
    record_of(fid)->bound = true;
    return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
    struct record *r = record_of(fid);

    if (command != FI_ENABLE)
        return r->ops_below->control(fid, command, arg);
    if (!r->bound)
        broke("a registration is enabled that is not bound");
    r->enabled = true;
    return 0;
}

static struct fi_ops_mr mr_ops, *mr_below;

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t key,
                  uint64_t flags, struct fid_mr **mr, void *context)
{
    struct rlimit  limit;
    bool           locked = !imposed.locks || (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && len <= limit.rlim_cur);
    int            rc = locked ? mr_below->reg(fid, buf, len, access, offset, key, flags, mr, context) : -FI_ENOMEM;
    struct record *r = rc == 0 ? calloc(1, sizeof(*r)) : NULL;

    if (rc != 0)
        return rc;
    if (!r)
        broke("there is no memory for the test");
    *r = (struct record){
        .next = records, .mr = *mr, .ops_below = (*mr)->fid.ops, .desc_below = (*mr)->mem_desc, .from = buf, .len = len
    };
    r->ops = *r->ops_below;
    r->ops.close = mr_close;
    r->ops.bind = mr_bind;
    r->ops.control = mr_control;
    (*mr)->fid.ops = &r->ops;
    (*mr)->mem_desc = r;
    records = r;
    return 0;
}

/* ---- the endpoint ---- */

static struct fi_ops        ep_fid_ops, *ep_fid_below;
static struct fi_ops_ep     ep_ops, *ep_below;
static struct fi_ops_msg    msg_ops, *msg_below;
static struct fi_ops_rma    rma_ops, *rma_below;
static struct fi_ops_atomic atomic_ops, *atomic_below;

/* Receives that complete with an error. */
static void    *lost[16];
static unsigned lost_count;

/* The message that is late: its completion, a copy of its bytes, and how often the queue is read before it arrives. The
 * count begins when the buffer is reported as full, or when no other message comes for long. */
static struct {
    struct fi_cq_data_entry entry;
    unsigned char           bytes[16384];
    unsigned                reads; /* 0: there is none */
} late;
static unsigned seen; /* messages that were not late since the last one that was */

#define LATE_READS 40 /* until a late message arrives in a buffer that is not full, */
#define LATE_SOON 3   /* and in one that is */

static void check_late(const struct iovec *posted)
{
    const char *at = late.entry.buf, *from = posted->iov_base;

    if (late.reads > 0 && at >= from && at < from + posted->iov_len)
        broke("a buffer is posted again while a message of %zu bytes is being received into it", late.entry.len);
}

/* Keep every Nth message back, and overwrite it as long as it is. */
static bool is_late(const struct fi_cq_data_entry *entry)
{
    bool message = (entry->flags & FI_RECV) && entry->buf && entry->len > 0 && entry->len <= sizeof(late.bytes);

    if (late.reads > 0 && entry->op_context == late.entry.op_context && (entry->flags & FI_MULTI_RECV))
        late.reads = LATE_SOON;
    if (imposed.late == 0 || !message || late.reads > 0 || (entry->flags & FI_MULTI_RECV) || ++seen < imposed.late)
        return false;
    seen = 0;
    late.entry = *entry;
    late.reads = LATE_READS;
    memcpy(late.bytes, entry->buf, entry->len);
    memset(entry->buf, 0xee, entry->len);
    return true;
}

/* Take the late messages from a batch of completions, and put one in whose time has come. */
static ssize_t delay(struct fi_cq_data_entry *entry, ssize_t n, size_t space)
{
    ssize_t kept = 0;

    if (n < 0 && n != -FI_EAGAIN)
        return n;
    for (ssize_t i = 0; i < n; i++)
        if (!is_late(&entry[i]))
            entry[kept++] = entry[i];
    if (late.reads > 0 && (size_t)kept < space && --late.reads == 0) {
        memcpy(late.entry.buf, late.bytes, late.entry.len);
        entry[kept++] = late.entry;
    }
    return kept > 0 ? kept : -FI_EAGAIN;
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
    if (len > imposed.inject)
        broke("fi_inject of %zu bytes, where %zu are copied at most", len, imposed.inject);
    return is_refused() ? -FI_EAGAIN : msg_below->inject(ep, buf, len, to);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to, void *context)
{
    desc = check_desc(desc, buf, len, "fi_send");
    return is_refused() ? -FI_EAGAIN : msg_below->send(ep, buf, len, desc, to, context);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    struct fi_msg copy = *msg;
    void         *desc = check_desc(*msg->desc, msg->msg_iov->iov_base, msg->msg_iov->iov_len, "fi_recvmsg");

    copy.desc = &desc;
    check_late(msg->msg_iov);
    if (is_refused())
        return -FI_EAGAIN;
    if (imposed.lose > 0 && lost_count < sizeof(lost) / sizeof(*lost)) {
        imposed.lose--;
        lost[lost_count++] = msg->context;
        return 0;
    }
    return msg_below->recvmsg(ep, &copy, flags);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from, uint64_t addr,
                        uint64_t key, void *context)
{
    desc = check_desc(desc, buf, len, "fi_read");
    return is_refused() ? -FI_EAGAIN : rma_below->read(ep, buf, len, desc, from, addr, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    struct fi_msg_rma copy = *msg;
    void             *desc = check_desc(*msg->desc, msg->msg_iov->iov_base, msg->msg_iov->iov_len, "fi_readmsg");

    copy.desc = &desc;
    return is_refused() ? -FI_EAGAIN : rma_below->readmsg(ep, &copy, flags);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    struct fi_msg_rma copy = *msg;
    size_t            len = msg->msg_iov->iov_len;
    void             *desc = NULL;

    if (!(flags & FI_INJECT))
        desc = check_desc(*msg->desc, msg->msg_iov->iov_base, len, "fi_writemsg");
    else if (len > imposed.rma)
        broke("fi_writemsg of %zu bytes with FI_INJECT, where %zu are copied at most", len, imposed.rma);
    copy.desc = &desc;
    return is_refused() ? -FI_EAGAIN : rma_below->writemsg(ep, &copy, flags);
}

static ssize_t atomic_fetch(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
                            void *result_desc, fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype datatype,
                            enum fi_op op, void *context)
{
    desc = check_desc(desc, buf, 8, "fi_fetch_atomic");
    result_desc = check_desc(result_desc, result, 8, "fi_fetch_atomic");
    return is_refused() ? -FI_EAGAIN
                        : atomic_below->readwrite(ep, buf, count, desc, result, result_desc, to, addr, key, datatype,
                                                  op, context);
}

static ssize_t atomic_compare(struct fid_ep *ep, const void *buf, size_t count, void *desc, const void *compare,
                              void *compare_desc, void *result, void *result_desc, fi_addr_t to, uint64_t addr,
                              uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
    desc = check_desc(desc, buf, 8, "fi_compare_atomic");
    compare_desc = check_desc(compare_desc, compare, 8, "fi_compare_atomic");
    result_desc = check_desc(result_desc, result, 8, "fi_compare_atomic");
    return is_refused() ? -FI_EAGAIN
                        : atomic_below->compwrite(ep, buf, count, desc, compare, compare_desc, result, result_desc, to,
                                                  addr, key, datatype, op, context);
}

static int ep_getopt(struct fid *fid, int level, int name, void *value, size_t *len)
{
    size_t limit = name == OPT_INJECT_MSG_SIZE ? imposed.inject : imposed.rma;

    if (level != FI_OPT_ENDPOINT || (name != OPT_INJECT_MSG_SIZE && name != OPT_INJECT_RMA_SIZE) || limit == NO_LIMIT)
        return ep_below->getopt(fid, level, name, value, len);
    memcpy(value, &limit, sizeof(limit));
    return 0;
}

static int ep_close(struct fid *fid)
{
    unsigned open = 0;

    for (const struct record *r = records; r && imposed.endpoint; r = r->next)
        open += r->bound;
    if (open > 0)
        broke("the endpoint is closed while %u registrations that are bound to it are open", open);
    fid->ops = ep_fid_below;
    return fid->ops->close(fid);
}

/* Replace the endpoint's tables. They are final once the endpoint is enabled. */
static int ep_control(struct fid *fid, int command, void *arg)
{
    struct fid_ep *ep = (struct fid_ep *)fid;
    int            rc = ep_fid_below->control(fid, command, arg);

    if (command != FI_ENABLE || rc != 0)
        return rc;
    msg_below = ep->msg;
    msg_ops = *msg_below;
    msg_ops.inject = msg_inject;
    msg_ops.send = msg_send;
    msg_ops.recvmsg = msg_recvmsg;
    ep->msg = &msg_ops;
    rma_below = ep->rma;
    rma_ops = *rma_below;
    rma_ops.read = rma_read;
    rma_ops.readmsg = rma_readmsg;
    rma_ops.writemsg = rma_writemsg;
    ep->rma = &rma_ops;
    if (ep->atomic) {
        atomic_below = ep->atomic;
        atomic_ops = *atomic_below;
        atomic_ops.readwrite = atomic_fetch;
        atomic_ops.compwrite = atomic_compare;
        ep->atomic = &atomic_ops;
    }
    return 0;
}

/* ---- the completion queue ---- */

static struct fi_ops    cq_fid_ops, *cq_fid_below;
static struct fi_ops_cq cq_ops, *cq_below;
static int              mute_fd = -1;

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
    if (imposed.broken > 0 && --imposed.broken == 0) {
        imposed.broken = 1;
        return -FI_EIO;
    }
    return lost_count > 0 ? -FI_EAVAIL : delay(buf, cq_below->read(cq, buf, count), count);
}

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
    if (lost_count == 0)
        return cq_below->readerr(cq, entry, flags);
    entry->op_context = lost[--lost_count];
    entry->flags = FI_RECV;
    entry->err = FI_ECONNRESET;
    return 1;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
    if (!imposed.mute || command != FI_GETWAIT)
        return cq_fid_below->control(fid, command, arg);
    mute_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *(int *)arg = mute_fd;
    return mute_fd >= 0 ? 0 : -FI_EMFILE;
}

static int cq_close(struct fid *fid)
{
    if (mute_fd >= 0)
        close(mute_fd);
    mute_fd = -1;
    fid->ops = cq_fid_below;
    return fid->ops->close(fid);
}

/* ---- the domain and the fabric ---- */

static struct fi_ops_domain domain_ops, *domain_below;
static struct fi_ops_fabric fabric_ops, *fabric_below;
static int                  added_modes; /* registration modes added to those of the provider */

/* Returns the info as libfabric provided it. */
static struct fi_info *restore(const struct fi_info *info)
{
    struct fi_info *own = below.dupinfo(info);
    char           *name = own ? own->fabric_attr->prov_name : NULL;

    if (!own)
        broke("there is no memory for the test");
    own->domain_attr->mr_mode &= ~added_modes;
    if (name && strncmp(name, PREFIX, strlen(PREFIX)) == 0)
        memmove(name, name + strlen(PREFIX), strlen(name) - strlen(PREFIX) + 1);
    return own;
}

static int domain_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
{
    int rc;

    if (imposed.nowait && attr->wait_obj != FI_WAIT_NONE)
        return -FI_ENOSYS;
    if ((rc = domain_below->cq_open(domain, attr, cq, context)) != 0)
        return rc;
    cq_fid_below = (*cq)->fid.ops;
    cq_fid_ops = *cq_fid_below;
    cq_fid_ops.control = cq_control;
    cq_fid_ops.close = cq_close;
    (*cq)->fid.ops = &cq_fid_ops;
    cq_below = (*cq)->ops;
    cq_ops = *cq_below;
    cq_ops.read = cq_read;
    cq_ops.readerr = cq_readerr;
    (*cq)->ops = &cq_ops;
    return 0;
}

static int domain_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
{
    struct fi_info *own = restore(info);
    int             rc = domain_below->endpoint(domain, own, ep, context);

    below.freeinfo(own);
    if (rc != 0)
        return rc;
    ep_fid_below = (*ep)->fid.ops;
    ep_fid_ops = *ep_fid_below;
    ep_fid_ops.control = ep_control;
    ep_fid_ops.close = ep_close;
    (*ep)->fid.ops = &ep_fid_ops;
    ep_below = (*ep)->ops;
    ep_ops = *ep_below;
    ep_ops.getopt = ep_getopt;
    (*ep)->ops = &ep_ops;
    return 0;
}

static int fabric_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context)
{
    struct fi_info *own = restore(info);
    int             rc = fabric_below->domain(fabric, own, domain, context);

    below.freeinfo(own);
    if (rc != 0)
        return rc;
    domain_below = (*domain)->ops;
    domain_ops = *domain_below;
    domain_ops.cq_open = domain_cq_open;
    domain_ops.endpoint = domain_endpoint;
    (*domain)->ops = &domain_ops;
    mr_below = (*domain)->mr;
    mr_ops = *mr_below;
    mr_ops.reg = mr_reg;
    (*domain)->mr = &mr_ops;
    return 0;
}

static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    if (late.reads > 0)
        return -FI_EAGAIN; /* it arrives without an event */
    return imposed.mute ? 0 : fabric_below->trywait(fabric, fids, count);
}

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    struct fi_fabric_attr own = *attr;
    int                   rc;

    if (own.prov_name && strncmp(own.prov_name, PREFIX, strlen(PREFIX)) == 0)
        own.prov_name += strlen(PREFIX);
    if ((rc = below.fabric(&own, fabric, context)) != 0)
        return rc;
    fabric_below = (*fabric)->ops;
    fabric_ops = *fabric_below;
    fabric_ops.domain = fabric_domain;
    fabric_ops.trywait = fabric_trywait;
    (*fabric)->ops = &fabric_ops;
    return 0;
}

/* ---- the available providers ---- */

static void impose_on(struct fi_info *info, const struct fi_info *hints)
{
    int wanted = (imposed.local ? FI_MR_LOCAL : 0) | (imposed.endpoint ? FI_MR_ENDPOINT : 0) |
                 (imposed.locks ? FI_MR_ALLOCATED : 0);
    char *name;

    if ((hints->domain_attr->mr_mode & wanted) != wanted)
        broke("registration modes that the program does not serve");
    added_modes |= wanted & ~info->domain_attr->mr_mode;
    info->domain_attr->mr_mode |= wanted;
    if (info->tx_attr->inject_size > imposed.inject)
        info->tx_attr->inject_size = imposed.inject;
    if (imposed.raw)
        info->ep_attr->max_order_raw_size = 0;
    if (imposed.mute) {
        info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
        if ((name = malloc(strlen(info->fabric_attr->prov_name) + sizeof(PREFIX)))) {
            strcpy(name, PREFIX);
            strcat(name, info->fabric_attr->prov_name);
            free(info->fabric_attr->prov_name);
            info->fabric_attr->prov_name = name;
        }
    }
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **info)
{
    struct fi_info *own = restore(hints);
    int             rc;

    own->domain_attr->mr_mode = hints->domain_attr->mr_mode;
    if (imposed.raw && hints->tx_attr->op_flags & FI_DELIVERY_COMPLETE)
        rc = -FI_ENODATA;
    else
        rc = below.getinfo(version, node, service, flags, own, info);
    for (struct fi_info *one = rc == 0 ? *info : NULL; one; one = one->next)
        impose_on(one, hints);
    below.freeinfo(own);
    return rc;
}

static void stand_in_front(struct tern_fabric_calls *calls)
{
    if (!imposed.text)
        return;
    below = *calls;
    calls->getinfo = getinfo;
    calls->fabric = open_fabric;
}

void test_fabric_impose(const char *text)
{
    imposed.text = text;
    imposed.inject = number("inject", NO_LIMIT);
    imposed.rma = number("rma", imposed.inject);
    imposed.local = word("local") != NULL;
    imposed.endpoint = word("endpoint") != NULL;
    imposed.locks = word("locks") != NULL;
    imposed.nowait = word("nowait") != NULL;
    imposed.mute = word("mute") != NULL;
    imposed.again = word("again") != NULL;
    imposed.random = number("again", 0);
    imposed.raw = word("raw") != NULL;
    imposed.lose = (unsigned)number("lose", 0);
    imposed.late = (unsigned)number("late", 0);
    imposed.broken = (unsigned)number("broken", 0);
    tern_boot_fabric_front = stand_in_front;
}

static __attribute__((constructor)) void impose_by_environment(void)
{
    const char *text = getenv("JOB_FABRIC");

    if (text && *text)
        test_fabric_impose(text);
}
