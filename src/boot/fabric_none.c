/* fabric_none.c: replaces fabric.c in a build without libfabric. */
#include "boot/fabric.h"

static tern_status missing(void)
{
    return tern_base_fail(TERN_ERR_LINK, "this library was built without libfabric; install libfabric-dev and build it "
                                         "again");
}

tern_status tern_boot_fabric_choose(bool between_nodes, struct tern_fabric *out)
{
    (void)between_nodes, (void)out;
    return missing();
}

tern_status tern_boot_fabric_list(bool between_nodes, struct tern_fabric_row **rows, size_t *count)
{
    (void)between_nodes, (void)rows, (void)count;
    return missing();
}

tern_status tern_boot_fabric_providers(char *text, size_t size)
{
    if (size > 0)
        text[0] = '\0';
    return missing();
}
