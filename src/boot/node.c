/* node.c: the identity of a node, and sets of its processors.
 *
 * The kernel draws a random number when it boots, which identifies the machine better than a host name does. Two
 * containers on a machine share the kernel, but descriptors can be passed only within a network namespace, and deaths
 * are visible only within a pid namespace. Containers that differ in either namespace are separate nodes.
 *
 * A set of processors is stored as bytes that can be sent to another process on the same machine.
 */
#include "boot/node.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define NAME_MOST 64

static unsigned long long namespace_of(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 ? (unsigned long long)about.st_ino : 0;
}

/* Write the boot id of the kernel. Returns false if it cannot be read. */
static bool name_kernel(char *text, size_t size)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char *got = file != NULL ? fgets(text, (int)size, file) : NULL;

    if (file != NULL)
        fclose(file);
    if (got != NULL)
        text[strspn(text, LETTERS)] = '\0'; /* cut the newline */
    return got != NULL && text[0] != '\0';
}

/* Write the boot id of the kernel, or the host name if there is none. */
static void name_machine(char *text, size_t size)
{
    if (name_kernel(text, size))
        return;
    if (gethostname(text, size) != 0)
        text[0] = '\0';
    text[size - 1] = '\0';
    text[strspn(text, LETTERS)] = '\0';
}

bool tern_boot_node_network(char text[TERN_NODE_TEXT])
{
    unsigned long long network = namespace_of("/proc/self/ns/net");
    char               kernel[NAME_MOST];

    if (network == 0 || !name_kernel(kernel, sizeof(kernel)))
        return false;
    snprintf(text, TERN_NODE_TEXT, "%s.%llx", kernel, network);
    return true;
}

tern_status tern_boot_node_identity(char text[TERN_NODE_TEXT])
{
    const char *name = tern_opt.node;
    char        machine[NAME_MOST];

    if (name != NULL && *name != '\0') {
        if (strlen(name) > NAME_MOST || name[strspn(name, LETTERS)] != '\0')
            return tern_base_fail(TERN_ERR_ARG,
                                  "TERN_NODE=%.100s cannot name a node; use up to %d letters, digits and . _ -", name,
                                  NAME_MOST);
        snprintf(text, TERN_NODE_TEXT, "name.%s", name);
        return TERN_OK;
    }
    name_machine(machine, sizeof(machine));
    snprintf(text, TERN_NODE_TEXT, "%s.%llx.%llx", machine, namespace_of("/proc/self/ns/net"),
             namespace_of("/proc/self/ns/pid"));
    return TERN_OK;
}

void tern_boot_cpus_own(struct tern_cpus *cpus)
{
    memset(cpus, 0, sizeof(*cpus));
    sched_getaffinity(0, sizeof(cpus->bits), (cpu_set_t *)(void *)cpus->bits); /* changes nothing if it fails */
}

void tern_boot_cpus_add(struct tern_cpus *cpus, const uint8_t *other, size_t len)
{
    for (size_t i = 0; i < len && i < sizeof(cpus->bits); i++)
        cpus->bits[i] |= other[i];
}

size_t tern_boot_cpus_length(const struct tern_cpus *cpus)
{
    size_t len = sizeof(cpus->bits);

    while (len > 0 && cpus->bits[len - 1] == 0)
        len--;
    return len;
}

int tern_boot_cpus_count(const struct tern_cpus *cpus)
{
    int count = 0;

    for (size_t i = 0; i < sizeof(cpus->bits); i++)
        count += __builtin_popcount(cpus->bits[i]);
    return count < 1 ? 1 : count;
}
