/*
 * Stops the first thread's clock, so that its timers never expire: see main.rs. No turn of the loop
 * takes time then, as in dense traffic; so the timer that dense traffic needs is refused, and the
 * program stays as it is in calm traffic.
 *
 * Loaded by LD_PRELOAD. The clocks of the other threads run: they can wait until a given time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
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

int timerfd_settime(int fd, int flags, const struct itimerspec *times, struct itimerspec *before)
{
    /* The period of src/io/reactor/turns.rs. */
    if (times->it_interval.tv_sec == 0 && times->it_interval.tv_nsec == 2000000) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_timerfd_settime, fd, flags, times, before);
}
