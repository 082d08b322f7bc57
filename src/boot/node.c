/* node.c: the identity of a node.
 *
 * The kernel draws a random number when it boots, which identifies the machine better than a host name does. Two
 * containers on a machine share the kernel, but descriptors can be passed only within a network namespace, and deaths
 * are visible only within a pid namespace. Containers that differ in either namespace are separate nodes.
 */
#define _GNU_SOURCE 1
#include "boot/node.h"

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
