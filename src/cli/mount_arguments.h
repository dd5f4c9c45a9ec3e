/*
 * The ways to say mount options, turned into the one that argp reads: `-o key=value,...` becomes `--key=value`, and the
 * calling form of mount(8)'s helpers (SOURCE TARGET -sfnv -o ... -t TYPE) becomes that of `hfkv mount`.
 *
 * Pure but for memory. Main thread only.
 */
#ifndef SRC_CLI_MOUNT_ARGUMENTS_H
#define SRC_CLI_MOUNT_ARGUMENTS_H

#include "common/fault.h"
#include "src/cli/option_parser.h"

#include <stdbool.h>

struct mount_arguments {
	int count;
	char **values; /* owned strings, then NULL */
	bool fake;     /* mount -f: check, do nothing */
};

/* `as_helper`: argv has the helper's form. `known` is the table whose long names -o may use, with `_` for `-`; an
 * unknown name is INVALID. Release with mount_arguments_done. */
MUST_CHECK enum hfkv_status mount_arguments_expand(int argc, char **argv, bool as_helper, const struct argp *known,
						   struct mount_arguments *ret_arguments, struct fault *fault);
void mount_arguments_done(struct mount_arguments *arguments);

#endif
