/* options.h: the options of options.def as a struct, filled from the environment. */
#ifndef TERN_BASE_OPTIONS_H
#define TERN_BASE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define TERN_OPTION_TYPE_CHOICE int
#define TERN_OPTION_TYPE_COUNT int64_t
#define TERN_OPTION_TYPE_SIZE uint64_t
#define TERN_OPTION_TYPE_SECONDS double
#define TERN_OPTION_TYPE_TEXT const char *

/* The values in force. One for the process; written by tern_base_options_load only. */
extern struct tern_options {
#define TERN_OPTION(field, type, name, fallback, range, meaning) TERN_OPTION_TYPE_##type field;
#include "base/options.def"
#undef TERN_OPTION
} tern_opt;

/* Indices of CHOICE words that the code compares with. */
enum { TERN_ON_FAILURE_ABORT, TERN_ON_FAILURE_RETURN };
enum { TERN_PAYLOAD_NEGOTIATED, TERN_PAYLOAD_FIXED };
enum { TERN_CMA_AUTO, TERN_CMA_OFF };
enum { TERN_LAUNCHER_AUTO, TERN_LAUNCHER_ALONE, TERN_LAUNCHER_PMI1, TERN_LAUNCHER_PMIX };
enum { TERN_OFI_LOCAL_AUTO, TERN_OFI_LOCAL_ALWAYS };
enum { TERN_OFI_DELIVERY_AUTO, TERN_OFI_DELIVERY_READ };
enum { TERN_OFI_ORDER_NETWORK, TERN_OFI_ORDER_COMPLETION };
enum { TERN_OFI_ATOMICS_AUTO, TERN_OFI_ATOMICS_NETWORK, TERN_OFI_ATOMICS_TARGET };
enum { TERN_PROGRESS_THREAD_ON, TERN_PROGRESS_THREAD_OFF };

/* One row of the list, for tables. */
struct tern_option_info {
    const char *name, *type, *fallback, *range, *meaning;
    const char *value;  /* as text: what is in force */
    const char *source; /* "default" or "environment" */
};

/* Fill tern_opt from the environment and set the log level. A value that cannot be used is TERN_ERR_ARG with a detail
 * that names it and what is allowed; tern_opt then has the default for it. A TERN_ name that is no option is warned
 * about once, with the nearest option's name. */
tern_status tern_base_options_load(char *const *environment);

/* The number of options, and row i of the list as it stands after the last load. */
size_t                  tern_base_options_count(void);
struct tern_option_info tern_base_options_row(size_t i);

#endif
