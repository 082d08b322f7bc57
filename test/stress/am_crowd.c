/* am_crowd.c: the flood of am_flood.c with 64 ranks on the available cores. Promise: that of am_flood.c, with many more
 * ranks than cores.
 *
 * ranks: 64
 * timeout: 300
 * labels: slow
 * env: TERN_AM_QUEUE=64K
 */
#include "am_flood.c"
