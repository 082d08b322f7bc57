/* pmi.c: finds out which launcher other than ternrun started this process.
 *
 * Launchers can start each other (mpirun under srun, mpiexec in a script that mpirun started), so the environment may
 * describe several. An open PMI-1 connection is inherited and shows that its launcher is the innermost one, because
 * mpirun closes such connections.
 */
#include "boot/pmi.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/options.h"
#include "base/parse.h"

static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

static bool is_socket(const char *number)
{
    int64_t   fd;
    int       type;
    socklen_t len = sizeof(type);

    return tern_base_parse_count(number, &fd) && fd >= 0 && fd <= 0x7fffffff &&
           getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

static bool has_pmix(void)
{
    return value_of("PMIX_NAMESPACE") != NULL && value_of("PMIX_RANK") != NULL;
}

tern_status tern_boot_pmi_find(const struct tern_pmi_ops **out)
{
    const char *fd = value_of("PMI_FD");
    bool        automatic = tern_opt.launcher == TERN_LAUNCHER_AUTO;

    *out = NULL;
    if (tern_opt.launcher == TERN_LAUNCHER_PMI1 || (automatic && fd != NULL && (is_socket(fd) || !has_pmix())))
        *out = &tern_boot_pmi1; /* its open reports what is wrong with the descriptor */
    else if (tern_opt.launcher == TERN_LAUNCHER_PMIX || (automatic && has_pmix()))
        *out = &tern_boot_pmix;
    else if (automatic && value_of("PMI_PORT") != NULL)
        return tern_base_fail(TERN_ERR_BOOT,
                              "the launcher offers PMI-1 through the port PMI_PORT=%.100s and not through an inherited "
                              "connection; start the job without -pmi-port, or with ternrun",
                              value_of("PMI_PORT"));
    return TERN_OK;
}
