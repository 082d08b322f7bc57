/* config.h: the parameters of a run as a struct, filled from the defaults, configuration files and the command line. */
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

/* Values of the CHOICE parameters: indices into the words of their ranges. */
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

/* One parameter of config.def, for printing. A number is written in the form in which it is read; a text is written as
 * it was given. */
struct sim_param_info {
    const char *name, *type, *fallback, *range, *section, *meaning;
};

/* Fill config with the defaults. The caller releases config with sim_config_free. */
void sim_config_init(struct sim_config *config);
void sim_config_free(struct sim_config *config);

/* Set one parameter. Returns TERN_ERR_ARG if there is no such parameter or if the value is out of range; the detail
 * names the parameter and the range. */
tern_status sim_config_set(struct sim_config *config, const char *name, const char *value);

/* Set one parameter from a text of the form "name=value". */
tern_status sim_config_assign(struct sim_config *config, const char *text);

/* Set parameters from a file with lines of the form "name = value"; # begins a comment. The detail of an error names
 * the file and the line. */
tern_status sim_config_read(struct sim_config *config, const char *path);

/* Return the number of parameters, the description of parameter i, and the value of parameter i as text, which is
 * truncated to size bytes. */
size_t                sim_config_count(void);
struct sim_param_info sim_config_row(size_t i);
void                  sim_config_value(const struct sim_config *config, size_t i, char *text, size_t size);

/* Print a description of all parameters. */
void sim_config_list(FILE *to);

#endif
