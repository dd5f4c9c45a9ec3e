/*
 * Telling a service manager how a daemon is (sd_notify's protocol: a datagram to NOTIFY_SOCKET), without its library.
 * Silent when nobody asked. Any thread.
 */
#ifndef SRC_CLI_SERVICE_NOTIFY_H
#define SRC_CLI_SERVICE_NOTIFY_H

/* `state` as sd_notify(3) has it, e.g. "READY=1". */
void service_notify(const char *state);

#endif
