/*
 * Makes system calls of a program fail, according to a file that the test changes at run time.
 *
 * Loaded by LD_PRELOAD. A seccomp filter passes every relevant call to a SIGSYS handler, which
 * returns an error or makes the call. So it covers calls through the C library and calls without
 * it. The filter allows the handler's own calls by their address.
 *
 * The file named by PTUNNEL_FAULTS holds RULES rules of eight 32-bit words each: see `struct rule`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "written for x86_64"
#endif

#define RULES 16

struct rule {
    uint32_t call;  /* enum call; 0: no rule */
    uint32_t error; /* the errno of the failure */
    uint32_t every; /* 1: each call, 2: every second one… */
    uint32_t skip;  /* number of calls that succeed before the first one that counts */
    uint32_t limit; /* maximum number of failures; 0: no limit */
    uint32_t any;   /* 0: calls on sockets with an IP address only, 1: all but on eventfds */
    uint32_t calls; /* number of calls so far */
    uint32_t hits;  /* number of failed calls */
};

enum call {
    NONE, READ, WRITE, ACCEPT, CONNECT, SPLICE, PIPE, EPOLL_ADD, EPOLL_WAIT, DUP, SOCKET, LISTEN,
    OPTION, SHUTDOWN, PIPE_SIZE
};

static struct rule *rules;

/* Moves the arguments from the registers of a function call to those of a system call. */
long faults_call(long number, long a, long b, long c, long d, long e, long f);
extern char faults_called[];
__asm__(".text\n"
        ".globl faults_call\n"
        "faults_call:\n"
        "  mov %rdi, %rax\n"
        "  mov %rsi, %rdi\n"
        "  mov %rdx, %rsi\n"
        "  mov %rcx, %rdx\n"
        "  mov %r8, %r10\n"
        "  mov %r9, %r8\n"
        "  mov 8(%rsp), %r9\n"
        "  syscall\n"
        ".globl faults_called\n"
        "faults_called:\n"
        "  ret\n");

static enum call kind_of(long number, const greg_t *r) {
    switch (number) {
    case SYS_read: case SYS_readv: case SYS_recvfrom: case SYS_recvmsg:
        return READ;
    case SYS_write: case SYS_writev: case SYS_sendto: case SYS_sendmsg:
        return WRITE;
    case SYS_accept: case SYS_accept4:
        return ACCEPT;
    case SYS_connect:
        return CONNECT;
    case SYS_splice:
        return SPLICE;
    case SYS_pipe: case SYS_pipe2:
        return PIPE;
    case SYS_epoll_ctl:
        /* The others take nothing that can be missing. */
        return r[REG_RSI] == EPOLL_CTL_ADD ? EPOLL_ADD : NONE;
    case SYS_epoll_wait: case SYS_epoll_pwait:
        return EPOLL_WAIT;
    case SYS_fcntl:
        return r[REG_RSI] == F_DUPFD_CLOEXEC ? DUP : r[REG_RSI] == F_SETPIPE_SZ ? PIPE_SIZE : NONE;
    case SYS_socket:
        return SOCKET;
    case SYS_listen:
        return LISTEN;
    case SYS_setsockopt:
        return OPTION;
    case SYS_shutdown:
        return SHUTDOWN;
    }
    return NONE;
}

static int has_ip_address(long fd) {
    int domain = 0;
    socklen_t size = sizeof domain;
    long failed = faults_call(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, (long)&domain, (long)&size, 0);
    return failed == 0 && (domain == AF_INET || domain == AF_INET6);
}

/* An eventfd or a timer has no type. Such errors never occur there, and tokio panics if they do. */
static int has_type(long fd) {
    struct stat stat;
    return faults_call(SYS_fstat, fd, (long)&stat, 0, 0, 0, 0) != 0 || (stat.st_mode & S_IFMT) != 0;
}

/* Returns the error that this call must fail with, or 0. */
static long error_for(long number, const greg_t *r) {
    enum call call = kind_of(number, r);
    for (int i = 0; call != NONE && i < RULES; i++) {
        struct rule *rule = &rules[i];
        if (__atomic_load_n(&rule->call, __ATOMIC_ACQUIRE) != call)
            continue;
        long fd = call == EPOLL_ADD ? r[REG_RDX] : r[REG_RDI];
        if (!rule->any && !has_ip_address(fd))
            continue;
        if ((call == READ || call == WRITE) && !has_type(fd))
            continue;
        uint32_t count = __atomic_fetch_add(&rule->calls, 1, __ATOMIC_RELAXED);
        if (count < rule->skip || (count - rule->skip) % rule->every != 0)
            continue;
        if (rule->limit && __atomic_load_n(&rule->hits, __ATOMIC_RELAXED) >= rule->limit)
            continue;
        __atomic_fetch_add(&rule->hits, 1, __ATOMIC_RELAXED);
        return rule->error;
    }
    return 0;
}

static void on_call(int signal, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    long number = info->si_syscall;
    long error = error_for(number, r);
    (void)signal;
    /* An interrupted connect(2) continues. */
    if (error && !(number == SYS_connect && error == EINTR)) {
        r[REG_RAX] = -error;
        return;
    }
    r[REG_RAX] = faults_call(number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8],
                             r[REG_R9]);
    if (error)
        r[REG_RAX] = -error;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define HALF(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + (at))
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define END(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define TRAP(name) IF(SYS_##name, 0, 1), END(SECCOMP_RET_TRAP)

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("PTUNNEL_FAULTS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        abort();
    rules = mmap(NULL, RULES * sizeof *rules, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    if (rules == MAP_FAILED || sigaction(SIGSYS, &action, NULL))
        abort();
    uint64_t own = (uint64_t)faults_called;
    struct sock_filter filter[] = {
        HALF(0), IF((uint32_t)own, 0, 3),
        HALF(4), IF((uint32_t)(own >> 32), 0, 1), END(SECCOMP_RET_ALLOW),
        LOAD(nr),
        TRAP(read), TRAP(readv), TRAP(recvfrom), TRAP(recvmsg),
        TRAP(write), TRAP(writev), TRAP(sendto), TRAP(sendmsg),
        TRAP(accept), TRAP(accept4), TRAP(connect), TRAP(splice), TRAP(pipe), TRAP(pipe2),
        TRAP(epoll_ctl), TRAP(epoll_wait), TRAP(epoll_pwait), TRAP(fcntl), TRAP(socket),
        TRAP(listen), TRAP(setsockopt), TRAP(shutdown),
        END(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        abort();
}
