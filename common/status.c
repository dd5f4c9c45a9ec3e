#include "common/fault.h"

#include <errno.h>

const char *hfkv_status_name(enum hfkv_status status)
{
	switch (status) {
	case HFKV_OK: return "ok";
	case HFKV_NOT_FOUND: return "not found";
	case HFKV_PARTIAL_KV_CHUNK: return "not a full KV chunk";
	case HFKV_OVERSIZE: return "too large";
	case HFKV_AUTH: return "token missing or not accepted";
	case HFKV_FORBIDDEN: return "not permitted";
	case HFKV_RATE_LIMITED: return "rate limited";
	case HFKV_QUOTA: return "remote quota reached";
	case HFKV_NO_SPACE: return "no space left";
	case HFKV_CHANGED: return "changed meanwhile";
	case HFKV_CORRUPT: return "corrupt";
	case HFKV_UNAVAILABLE: return "unavailable";
	case HFKV_TIMEOUT: return "deadline passed";
	case HFKV_CANCELLED: return "cancelled";
	case HFKV_BUSY: return "busy";
	case HFKV_INVALID: return "invalid";
	case HFKV_EXISTS: return "exists already";
	case HFKV_NO_MEMORY: return "out of memory";
	case HFKV_IO: return "input/output error";
	case HFKV_BUG: return "internal error";
	case HFKV_STATUS_COUNT: break;
	}
	return "unknown status";
}

int status_to_errno(enum hfkv_status status)
{
	switch (status) {
	case HFKV_OK: return 0;
	case HFKV_NOT_FOUND: return ENOENT;
	case HFKV_PARTIAL_KV_CHUNK: return EINVAL;
	case HFKV_OVERSIZE: return EFBIG;
	case HFKV_AUTH: return EACCES;
	case HFKV_FORBIDDEN: return EACCES;
	case HFKV_RATE_LIMITED: return EAGAIN;
	case HFKV_QUOTA: return ENOSPC;
	case HFKV_NO_SPACE: return ENOSPC;
	case HFKV_CHANGED: return ESTALE;
	case HFKV_CORRUPT: return EIO;
	case HFKV_UNAVAILABLE: return EIO;
	case HFKV_TIMEOUT: return ETIMEDOUT;
	case HFKV_CANCELLED: return EINTR;
	case HFKV_BUSY: return EBUSY;
	case HFKV_INVALID: return EINVAL;
	case HFKV_EXISTS: return EEXIST;
	case HFKV_NO_MEMORY: return ENOMEM;
	case HFKV_IO: return EIO;
	case HFKV_BUG: return EIO;
	case HFKV_STATUS_COUNT: break;
	}
	return EIO;
}

enum hfkv_status status_from_errno(int error_number)
{
	switch (error_number) {
	case 0: return HFKV_OK;
	case ENOENT: case ENOTDIR: return HFKV_NOT_FOUND;
	case EACCES: case EPERM: return HFKV_FORBIDDEN;
	case ENOSPC: case EDQUOT: return HFKV_NO_SPACE;
	case EFBIG: case ENAMETOOLONG: return HFKV_OVERSIZE;
	case ESTALE: return HFKV_CHANGED;
	case ETIMEDOUT: return HFKV_TIMEOUT;
	case EINTR: case ECANCELED: return HFKV_CANCELLED;
	case EBUSY: case EAGAIN: return HFKV_BUSY;
	case EINVAL: return HFKV_INVALID;
	case EEXIST: return HFKV_EXISTS;
	case ENOMEM: return HFKV_NO_MEMORY;
	default: return HFKV_IO;
	}
}
