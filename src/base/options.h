/* options.h: the options of options.def as a struct, filled from the environment. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define TERN_OPTION_TYPE_CHOICE int
#define TERN_OPTION_TYPE_COUNT int64_t
#define TERN_OPTION_TYPE_SIZE uint64_t
#define TERN_OPTION_TYPE_SECONDS double
#define TERN_OPTION_TYPE_TEXT const char *

/* The current values, one set per process. Writer: tern_base_options_load. */
extern struct tern_options {
#define TERN_OPTION(field, type, name, fallback, range, meaning) TERN_OPTION_TYPE_##type field;
#include "base/options.def"
#undef TERN_OPTION
} tern_opt;

/* Indices of the CHOICE words that the code compares against. */
enum { TERN_ON_FAILURE_ABORT, TERN_ON_FAILURE_RETURN };
enum { TERN_PAYLOAD_NEGOTIATED, TERN_PAYLOAD_FIXED };
enum { TERN_CMA_AUTO, TERN_CMA_OFF };
enum { TERN_LAUNCHER_AUTO, TERN_LAUNCHER_ALONE, TERN_LAUNCHER_PMI1, TERN_LAUNCHER_PMIX };
enum { TERN_OFI_LOCAL_AUTO, TERN_OFI_LOCAL_ALWAYS };
enum { TERN_OFI_DELIVERY_AUTO, TERN_OFI_DELIVERY_READ };
enum { TERN_OFI_ORDER_NETWORK, TERN_OFI_ORDER_COMPLETION };
enum { TERN_OFI_ATOMICS_AUTO, TERN_OFI_ATOMICS_NETWORK, TERN_OFI_ATOMICS_TARGET };
enum { TERN_PROGRESS_THREAD_ON, TERN_PROGRESS_THREAD_OFF };

/* One option, for tables of all options. */
struct tern_option_info {
    const char *name, *type, *fallback, *range, *meaning;
    const char *value;  /* current value, as text */
    const char *source; /* "default" or "environment" */
};

/* Fill tern_opt from the environment and set the log level. Returns TERN_OK. TERN_ERR_ARG: a value is invalid; the
 * detail names the value and the allowed values, and tern_opt has the default of that option. TERN_ERR_NOMEM. Unless
 * ternrun has started the process, each unknown TERN_ variable causes one warning, which suggests the closest option
 * name. */
tern_status tern_base_options_load(char *const *environment);

/* Return the number of options, and option i as of the last load. */
size_t                  tern_base_options_count(void);
struct tern_option_info tern_base_options_row(size_t i);
