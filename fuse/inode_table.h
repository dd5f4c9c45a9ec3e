/*
 * Names and inodes of a mount: which inode a name stands for now, what the kernel still holds, and what is kept alive
 * by a name alone.
 *
 * One inode is one body for ever: when the content of a name changes, the name gets another inode (inode_table_bind) and
 * the old one lives on without a name until the kernel forgets it and nothing has it open. A name has one `current` inode
 * and any number of `private` ones: bodies that some process is writing under that name and that nobody else sees yet.
 *
 * An inode lives while the kernel counts lookups on it, while somebody holds a reference, or while a name keeps it.
 * The kernel's node id is the inode's address. This module knows nothing of FUSE, of the cache, or of what a
 * body is: file state hangs on the inode and is released through a callback.
 *
 * Thread rule: any thread. One lock for the whole table, held only for memory work; the lock order is table, then
 * fs_inode.mutex. Callbacks named below run with the table's lock held unless they say otherwise.
 */
#ifndef FUSE_INODE_TABLE_H
#define FUSE_INODE_TABLE_H

#include "common/cleanup.h"
#include "fuse/fs_file.h"
#include "hfkv/hfkv_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FS_NAME_MAX_BYTES 1024 /* of one name; longer ones are ENAMETOOLONG */

struct inode_table;
struct fs_name; /* one name in one directory; private to the table */

enum fs_inode_kind { FS_INODE_DIRECTORY, FS_INODE_FILE, FS_INODE_STATUS };

struct fs_inode {
	/* Constant after creation. */
	uint64_t number; /* st_ino; never used twice */
	enum fs_inode_kind kind;

	/* The table's, under its lock. */
	struct fs_name *name;     /* where it stands; NULL: without a name */
	struct fs_name *children; /* directories: list of the names in it */
	struct fs_inode *next_private;
	struct fs_inode *previous, *next; /* of all inodes that live */
	uint64_t lookups;
	uint32_t references;
	bool kept; /* the name holds a reference of its own */

	/* fs_scratch's, under its lock. */
	struct fs_inode *sooner, *later; /* on the list of what waits for its end */
	bool waits;

	/* State that fuse/ keeps about it, under `mutex`. */
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* writers, writes in flight, publishing */
	struct fs_attributes attributes;
	struct fs_file file;    /* files */
	int64_t fresh_until_ms; /* directories of the bucket: known to exist until then */
};

/* Called without any lock when an inode has ended, just before its memory goes. */
typedef void (*inode_release)(void *context, struct fs_inode *inode);

MUST_CHECK enum hfkv_status inode_table_new(inode_release release, void *context, struct inode_table **ret_table);
/* Ends every inode, whatever still holds it. No other call is in flight. NULL is fine. */
void inode_table_free(struct inode_table *table);

/* The root directory; lives as long as the table. */
struct fs_inode *inode_table_root(struct inode_table *table);

/* A new inode without a name, with one reference for the caller. NULL: no memory. */
struct fs_inode *inode_table_add(struct inode_table *table, enum fs_inode_kind kind);
struct fs_inode *inode_table_ref(struct inode_table *table, struct fs_inode *inode);
/* NULL is fine. */
void inode_table_unref(struct inode_table *table, struct fs_inode *inode);

/* The kernel was told of the inode once more / forgets it `count` times. */
void inode_table_looked_up(struct inode_table *table, struct fs_inode *inode);
void inode_table_forget(struct inode_table *table, struct fs_inode *inode, uint64_t count);

/* ---- names ---- */

/* The current inode of a name, with a reference; NULL when there is none. */
struct fs_inode *inode_table_find(struct inode_table *table, struct fs_inode *directory, const char *name);

/* Makes `inode` (nameless, or standing anywhere) the current one of the name. `keep`: the name keeps it alive. The inode
 * that stood there before loses its name and comes back in *ret_displaced with a reference (NULL: none). */
MUST_CHECK enum hfkv_status inode_table_bind(struct inode_table *table, struct fs_inode *directory, const char *name,
					     struct fs_inode *inode, bool keep, struct fs_inode **ret_displaced);

/* As inode_table_bind without keeping, unless the name's current inode already satisfies `same`: then that one is returned
 * and `inode` stays nameless. The result carries a reference; NULL: no memory. */
struct fs_inode *inode_table_find_or_bind(struct inode_table *table, struct fs_inode *directory, const char *name,
					  struct fs_inode *inode,
					  bool (*same)(struct fs_inode *inode, const void *context), const void *context);

/* Adds a private inode to the name, kept alive by it, first in order. */
MUST_CHECK enum hfkv_status inode_table_bind_private(struct inode_table *table, struct fs_inode *directory,
						     const char *name, struct fs_inode *inode);
/* The first private inode of the name that `match` accepts, with a reference; NULL: none. */
struct fs_inode *inode_table_find_private(struct inode_table *table, struct fs_inode *directory, const char *name,
					  bool (*match)(struct fs_inode *inode, const void *context),
					  const void *context);

/* Takes the inode's name away. False when it had none. */
bool inode_table_unbind(struct inode_table *table, struct fs_inode *inode);

/* Whether it stands under a name. */
bool inode_table_has_name(struct inode_table *table, struct fs_inode *inode);

/* The path from the root ("" for the root), malloc'd. NULL: nameless, below something nameless, or no memory. */
char *inode_table_path(struct inode_table *table, struct fs_inode *inode);

/* The directory an inode stands in, with a reference, and its malloc'd name there. False: nameless or no memory. */
bool inode_table_locate(struct inode_table *table, struct fs_inode *inode, struct fs_inode **ret_directory,
			char **ret_name);

/* ---- walking ---- */

/* Visits the current inodes of a directory that their names keep alive; the visitor only copies. False ends it. */
typedef bool (*inode_visit)(void *context, const char *name, struct fs_inode *inode);
void inode_table_visit_kept(struct inode_table *table, struct fs_inode *directory, inode_visit visit, void *context);
/* Whether a name in the directory keeps an inode, current or private. */
bool inode_table_has_kept(struct inode_table *table, struct fs_inode *directory);
/* How many inodes live. */
size_t inode_table_count(struct inode_table *table);

#endif
