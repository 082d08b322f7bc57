/* promises.c: what each promise of Tern rests on, and whether this machine provides it. */
#include <stdio.h>

#include "base/memory.h"
#include "base/options.h"
#include "boot/fabric.h"
#include "info.h"

struct promise {
    const char *promise, *rests_on, *holds, *remark;
};

static void tell(const struct promise *p)
{
    const struct info_field fields[] = {
        { "promise", p->promise }, { "rests_on", p->rests_on }, { "holds", p->holds }, { "remark", p->remark }
    };
    char text[1024];

    snprintf(text, sizeof(text), "%s\n         rests on: %s\n         here:     %s%s%s", p->promise, p->rests_on,
             p->holds, p->remark[0] != '\0' ? ". " : "", p->remark);
    info_item(text, fields, 4);
}

static void tell_completion(void)
{
    const struct tern_fabric_row *network = info_network_chosen();
    char                          remark[480] = "There is no network to other nodes";

    if (network != NULL)
        snprintf(remark, sizeof(remark), "Between nodes, the network %s %s", network->provider, network->why);
    tell(&(struct promise){
        "A put that has completed is visible to every rank, and a notification follows its data.",
        "coherent shared memory on a node, and delivery completion or reads after puts between nodes", "yes", remark });
}

static void tell_ordering(void)
{
    tell(&(struct promise){ "Operations of a strict context reach a target in program order.",
                            "the order of a core's stores on a node, and between nodes the order that the provider "
                            "guarantees, or a wait for the preceding operation",
                            "yes",
                            tern_opt.ofi_order == TERN_OFI_ORDER_COMPLETION
                                ? "TERN_OFI_ORDER=completion: between nodes, each operation waits for the preceding one"
                                : "" });
}

static void tell_progress(const struct info_cma *cma)
{
    bool off = tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF;

    tell(&(struct promise){
        "Transfers finish whatever the target does.",
        "shared memory and cross-memory attach on a node, and a progress thread that sleeps when idle",
        off ? "in part" : "yes",
        off         ? "TERN_PROGRESS_THREAD=off: a target on another node must call Tern"
        : cma->used ? "The kernel copies registered memory, and no thread of the target takes part"
                    : "A thread of the target serves its registered memory, because cross-memory "
                      "attach is not used" });
}

static void tell_waits(const struct info_kernel *kernel)
{
    bool works = kernel->futex == 0;

    tell(&(struct promise){ "A wait sleeps without polling and is woken; more ranks than cores are normal.",
                            "futex, and membarrier, which saves the sender of a message a fence", works ? "yes" : "no",
                            !works                     ? "The kernel refuses the system call futex"
                            : kernel->barrier_everyone ? "membarrier is there"
                                                       : "Without membarrier, each message costs a fence" });
    works = kernel->pidfd == 0;
    tell(&(struct promise){
        "A rank that dies is reported to the others, and nothing hangs in silence.",
        "ternrun as the parent of its ranks, and pidfd under other launchers", works ? "yes" : "in part",
        works ? "pidfd is there" : "Without pidfd, ranks under other launchers do not notice a death" });
}

static void tell_memory(const struct info_kernel *kernel)
{
    struct tern_memory_limits room = tern_base_memory_limits("");
    char                      remark[300];

    tell(&(struct promise){ "Nothing is left behind, even after SIGKILL.",
                            "memory files without a name (memfd), which end with the last process that uses them",
                            kernel->memfd == 0 ? "yes" : "no",
                            kernel->memfd == 0 ? "memfd is there; no file in /dev/shm is used"
                                               : "The kernel refuses memory files, so that no job can start" });
    snprintf(remark, sizeof(remark),
             "The limit is that of %s, and an allocation leaves %llu MiB free (TERN_MEMORY_KEEP)", room.limit,
             (unsigned long long)(tern_opt.memory_keep >> 20));
    tell(&(struct promise){ "Memory is reserved before it is used: an error instead of SIGBUS.",
                            "fallocate on memory files, and readable limits of the control groups",
                            kernel->memfd == 0 && room.available != UINT64_MAX ? "yes" : "in part", remark });
    snprintf(remark, sizeof(remark),
             "A rank stores at most %llu MiB of unexpected messages (TERN_MSG_KEEP) and %lld unexpected notifications "
             "(TERN_NOTIFY_KEEP)",
             (unsigned long long)(tern_opt.msg_keep >> 20), (long long)tern_opt.notify_keep);
    tell(&(struct promise){ "Memory is bounded: a full queue is back-pressure.",
                            "credits and fixed queues; nothing of the machine", "yes", remark });
}

void info_promises(const struct info_cma *cma, const struct info_kernel *kernel)
{
    info_list("promises", "Promises, and what they rest on here");
    tell_completion();
    tell_ordering();
    tell_progress(cma);
    tell_waits(kernel);
    tell_memory(kernel);
    tell(&(struct promise){ "Invalid arguments are refused with an error and change nothing.", "nothing of the machine",
                            "yes", "" });
    tell(&(struct promise){ "Messages of other jobs, and damaged ones, are refused.",
                            "random keys of the kernel, and keyed hashes between nodes", "yes",
                            tern_opt.ofi_data > 0 ? "Notifications that travel as remote completion data carry no key; "
                                                    "TERN_OFI_DATA=0 prevents them"
                                                  : "" });
    tell(&(struct promise){ "Tern works in a container.",
                            "a trial of cross-memory attach for each peer, and a bounce buffer where it is refused",
                            "yes",
                            cma->works ? "Cross-memory attach is permitted"
                                       : "Cross-memory attach is refused, and the bounce buffer is used" });
    tell(&(struct promise){ "Nothing is taken over: no signal handler, no malloc hook.", "nothing of the machine",
                            "yes", "" });
    info_list_end();
}
