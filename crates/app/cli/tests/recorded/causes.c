/* Executions of one kind between markers, half of them slow for a known reason: every second one, or with a group the later ones.
   causes KIND MARKER COUNT [FOLDER of a control group] [FILE that is cached] [FILE that is not] [NETWORK NAMESPACE] [ADDRESS in it] */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) { perror(what); exit(3); }

static double now_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

/* Of its own CPU time: who is preempted takes longer, not less. Reading that clock is a system call, so that it is read rarely. */
static void compute(double ms) {
    double end = now_ms(CLOCK_THREAD_CPUTIME_ID) + ms;
    volatile unsigned sum = 0;
    while (now_ms(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int step = 0; step < 40000; step++) sum += step;
}

static void wait_ms(int ms) {
    struct timespec t = {0, ms * 1000000L};
    nanosleep(&t, 0);
}

static void move_to(const char *group) {
    char path[500], pid[20];
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    snprintf(pid, sizeof pid, "%d", getpid());
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, pid, strlen(pid)) < 0) fail(path);
    close(file);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int asked, stopped;

/* A thread that holds the mutex while it computes, whenever it is asked to. */
static void *flusher(void *nothing) {
    prctl(PR_SET_NAME, "flusher");
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (!asked) pthread_cond_wait(&changed, &mutex);
        __atomic_store_n(&asked, 0, __ATOMIC_SEQ_CST);
        compute(10);
    }
    return nothing;
}

static void lock(int slow) {
    compute(1);
    if (slow) {
        pthread_mutex_lock(&mutex);
        asked = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
        /* Until it has the mutex. */
        while (__atomic_load_n(&asked, __ATOMIC_SEQ_CST)) sched_yield();
    }
    pthread_mutex_lock(&mutex);
    compute(0.2);
    pthread_mutex_unlock(&mutex);
}

/* A thread that stops the others while it computes. */
static void *collector(void *nothing) {
    prctl(PR_SET_NAME, "collector");
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (!asked) pthread_cond_wait(&changed, &mutex);
        asked = 0;
        stopped = 1;
        pthread_mutex_unlock(&mutex);
        compute(10);
        pthread_mutex_lock(&mutex);
        stopped = 0;
        pthread_cond_broadcast(&changed);
    }
    return nothing;
}

static void stop(int slow) {
    pthread_mutex_lock(&mutex);
    if (slow) {
        asked = 1;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&mutex);
    for (int step = 0; step < 4; step++) {
        compute(0.3);
        pthread_mutex_lock(&mutex);
        while (asked || stopped) pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static int store;

static void sync_file(int slow) {
    static char block[1 << 16];
    compute(1);
    if (lseek(store, 0, SEEK_SET) < 0) fail("seek");
    for (int n = 0; n < 8; n++) {
        if (write(store, block, sizeof block) < 0) fail("write");
        if (slow && fsync(store)) fail("fsync");
    }
}

static int connection;

static int accepted(int listener) {
    int one = 1, client = accept(listener, 0, 0);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return client;
}

/* A process that answers on a connection. */
static void serve(int listener) {
    char byte;
    int client = accepted(listener);
    prctl(PR_SET_NAME, "shop-db");
    while (read(client, &byte, 1) == 1) {
        compute(byte ? 10 : 0.5);
        if (write(client, &byte, 1) != 1) break;
    }
    _exit(0);
}

static void query(int slow) {
    char byte = slow;
    compute(1);
    if (write(connection, &byte, 1) != 1 || read(connection, &byte, 1) != 1) fail("query");
}

/* Listens at a free port of an address, which is set. */
static int listening(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)address, size) || listen(listener, 1)) fail("listen");
    getsockname(listener, (void *)address, &size);
    return listener;
}

static int connected(struct sockaddr_in *address) {
    int one = 1, client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (void *)address, sizeof *address)) fail("connect");
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return client;
}

static void start_server(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = listening(&address);
    if (fork() == 0) serve(listener);
    connection = connected(&address);
}

/* One in the network of the host, one behind a bridge. */
static int page_connections[2];

enum { QUESTION_BYTES = 100, PAGE_BYTES = 16384, PAGES = 20 };

static void serve_pages(int listener) {
    static char page[PAGE_BYTES];
    int client = accepted(listener);
    while (read(client, page, QUESTION_BYTES) > 0)
        if (write(client, page, sizeof page) != sizeof page) break;
    _exit(0);
}

static void fetch(int slow) {
    static char page[PAGE_BYTES];
    int client = page_connections[slow];
    for (int n = 0; n < PAGES; n++) {
        if (write(client, page, QUESTION_BYTES) != QUESTION_BYTES) fail("question");
        for (int got = 0, more; got < PAGE_BYTES; got += more)
            if ((more = read(client, page, PAGE_BYTES - got)) <= 0) fail("page");
    }
}

/* Both servers are children of this process, and their networks are all that differs. */
static void start_page_servers(const char *namespace, const char *behind_bridge) {
    char path[100];
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    int own = open("/proc/self/ns/net", O_RDONLY), other = open(path, O_RDONLY);
    if (own < 0 || other < 0) fail(path);
    for (int side = 0; side < 2; side++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        if (side == 1) inet_pton(AF_INET, behind_bridge, &address.sin_addr);
        if (setns(side == 1 ? other : own, CLONE_NEWNET)) fail("setns");
        int listener = listening(&address);
        if (setns(own, CLONE_NEWNET)) fail("setns");
        if (fork() == 0) serve_pages(listener);
        page_connections[side] = connected(&address);
    }
}

static pid_t hog_process;

static void pin(void) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
}

static void start_hog(void) {
    pin();
    if ((hog_process = fork()) == 0) {
        prctl(PR_SET_NAME, "video-encode");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) compute(1000);
    }
    kill(hog_process, SIGSTOP);
}

static void hog(int slow) { compute(12); }

static const char *group;

static void quota(int slow) { compute(25); }

static volatile const char *cached, *uncached;
static size_t cached_bytes, uncached_bytes;

static volatile const char *mapped(const char *path, size_t *bytes) {
    struct stat stat;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &stat)) fail(path);
    *bytes = stat.st_size;
    void *pages = mmap(0, *bytes, PROT_READ, MAP_PRIVATE, file, 0);
    madvise(pages, *bytes, MADV_RANDOM);
    return pages;
}

static void pages(int slow) {
    volatile const char *from = slow ? uncached : cached;
    size_t bytes = slow ? uncached_bytes : cached_bytes;
    int sum = 0;
    compute(1);
    for (int n = 0; n < 100; n++) sum += from[rand() % (bytes / 4096) * 4096];
    if (sum == 1) exit(4);
}

/* What makes the next execution slow, or no longer: outside of it, since it takes time. A process does not leave its group. */
static void disturb(int begins) {
    if (hog_process) kill(hog_process, begins ? SIGCONT : SIGSTOP);
    if (group[0] == '/' && begins) move_to(group);
}

int main(int count, char **words) {
    int marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY);
    if (count < 4 || marker < 0) fail("trace_marker");
    const char *kind = words[1];
    void (*run)(int) = 0;
    pthread_t thread;
    group = count > 4 ? words[4] : 0;
    if (!strcmp(kind, "lock")) { run = lock; pthread_create(&thread, 0, flusher, 0); }
    if (!strcmp(kind, "stop")) { run = stop; pthread_create(&thread, 0, collector, 0); }
    if (!strcmp(kind, "fsync")) { run = sync_file; store = open(words[5], O_RDWR | O_CREAT, 0600); }
    if (!strcmp(kind, "server")) { run = query; start_server(); }
    if (!strcmp(kind, "bridge")) { run = fetch; start_page_servers(words[7], words[8]); }
    if (!strcmp(kind, "hog")) { run = hog; start_hog(); }
    if (!strcmp(kind, "quota")) run = quota;
    if (!strcmp(kind, "pages")) { run = pages; cached = mapped(words[5], &cached_bytes); uncached = mapped(words[6], &uncached_bytes); }
    if (!run) return 2;
    wait_ms(20);
    for (int n = 0; n < atoi(words[3]); n++) {
        char text[100];
        int slow = group[0] == '/' ? n >= atoi(words[3]) / 2 : n % 2;
        if (slow) disturb(1);
        for (int side = 0; side < 2; side++) {
            snprintf(text, sizeof text, "%s%s %s", words[2], slow ? "v2" : "v1", side ? "end" : "begin");
            if (write(marker, text, strlen(text)) < 0) fail("marker");
            if (side == 0) run(slow);
        }
        if (slow) disturb(0);
        wait_ms(3);
    }
    if (hog_process) kill(hog_process, SIGKILL);
    return 0;
}
