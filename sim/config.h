/* config.h: the parameters of a run as a struct, filled from defaults, configuration files and the command line. */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

#define SIM_TYPE_CHOICE int
#define SIM_TYPE_COUNT int64_t
#define SIM_TYPE_DECIMAL double
#define SIM_TYPE_TEXT char *

struct sim_config {
#define SIM_PARAM(field, type, fallback, range, section, meaning) SIM_TYPE_##type field;
#include "config.def"
#undef SIM_PARAM
};

/* Indices of CHOICE words. */
enum { SIM_DRAGONFLY, SIM_TORUS, SIM_FATTREE, SIM_SINGLE };
enum { SIM_MIN, SIM_VALIANT, SIM_UGAL, SIM_UGAL_G, SIM_PAR };
enum { SIM_WORMHOLE, SIM_CUT_THROUGH };
enum { SIM_AT_ARRIVAL, SIM_AT_FRONT, SIM_AT_TURN };
enum { SIM_VIA_GROUP, SIM_VIA_ROUTER };
enum { SIM_VC_SAFE, SIM_VC_REFERENCE, SIM_VC_NONE };
enum { SIM_PAIRS, SIM_UNIFORM, SIM_PERMUTATION, SIM_SHIFT, SIM_HOTSPOT, SIM_ALLTOALL, SIM_FILE };
enum { SIM_SATURATING, SIM_OPEN };
enum { SIM_QUEUE_VC, SIM_QUEUE_PORT };
enum { SIM_COUNTS_QUEUE, SIM_COUNTS_PACKET };
enum { SIM_PER_PACKET, SIM_PER_FLIT };
enum { SIM_SEEN_SINK, SIM_SEEN_ARRIVAL };
enum { SIM_STEADY, SIM_CYCLES };

/* One row of the list, for tables. Numbers are written as they are read; a text is as it was given. */
struct sim_param_info {
    const char *name, *type, *fallback, *range, *section, *meaning;
};

/* Fill config with the defaults. To be given back with sim_config_free. */
void sim_config_init(struct sim_config *config);
void sim_config_free(struct sim_config *config);

/* Set one parameter. TERN_ERR_ARG: no such parameter, or a value outside its range; the detail names both. */
tern_status sim_config_set(struct sim_config *config, const char *name, const char *value);

/* Set from text "name=value". */
tern_status sim_config_assign(struct sim_config *config, const char *text);

/* Set from a file of lines "name = value", where # begins a comment. The detail names file and line. */
tern_status sim_config_read(struct sim_config *config, const char *path);

/* The number of parameters, row i of the list, and the value of parameter i as text (cut where size is too small). */
size_t                sim_config_count(void);
struct sim_param_info sim_config_row(size_t i);
void                  sim_config_value(const struct sim_config *config, size_t i, char *text, size_t size);

/* Explain all parameters. */
void sim_config_list(FILE *to);

#endif
