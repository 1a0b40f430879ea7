/*
 * Stops the first thread's clock, so that its timers never expire: see main.rs.
 *
 * Loaded by LD_PRELOAD. The clocks of the other threads run: they can wait until a given time.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static struct timespec stood[2];

    if (clock > CLOCK_MONOTONIC || getpid() != syscall(SYS_gettid))
        return (int)syscall(SYS_clock_gettime, clock, now);
    if (stood[clock].tv_sec == 0)
        syscall(SYS_clock_gettime, clock, &stood[clock]);
    *now = stood[clock];
    return 0;
}
