/* A slow cable between two network namespaces, where the kernel has no `tc netem`: a TUN device in each, and this
 * process between them, which gives each direction a rate and each packet a delay. usage: slow_link --help. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MTU = 65000, SLOTS = 1024, AT_ONCE = 32, PRIORITY = 10 };
static const uint64_t SECOND = 1000000000;
/* ns of packets on their way; what is more stays in the sender's device */
static const uint64_t MOST_WAITING = 50000000;
static const char usage[] =
    "usage: slow_link A B [--delay MS] [--rate MBIT]\n\n"
    "A cable between the network namespaces A and B (ip netns add), as root: a device link0 in each, to which the\n"
    "caller gives an address. Says \"ready\", then forwards until it is ended; says what went over it then.\n"
    "  --delay MS    of each packet, one way (1)\n"
    "  --rate MBIT   of each direction, million bits a second (1000)\n"
    "example: slow_link a b & ip -n a addr add 10.88.0.1/24 dev link0; ip -n a link set link0 up mtu 65000\n";

typedef struct packet {
    uint64_t due;
    int bytes;
    unsigned char data[MTU];
} packet;

typedef struct direction {
    int from, to;
    packet *ring; /* SLOTS of them */
    unsigned first, count;
    uint64_t free_at; /* when the cable has sent what it was given */
    uint64_t bytes, packets, refused;
} direction;

static volatile sig_atomic_t ended;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* The device of a namespace; it ends with this process. */
static int device_in(const char *namespace) {
    char path[4096];
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    int at = open(path, O_RDONLY | O_CLOEXEC);
    if (at < 0 || setns(at, CLONE_NEWNET)) {
        fprintf(stderr, "slow_link: namespace %s: %s (ip netns add %s, as root)\n", namespace, strerror(errno),
                namespace);
        exit(1);
    }
    close(at);
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(r.ifr_name, "link0");
    if (tun < 0 || ioctl(tun, TUNSETIFF, &r)) {
        fprintf(stderr, "slow_link: link0 in %s: %s\n", namespace, strerror(errno));
        exit(1);
    }
    return tun;
}

static bool full(const direction *d, uint64_t t) {
    return d->count == SLOTS || (d->free_at > t && d->free_at - t > MOST_WAITING);
}

static void take(direction *d, uint64_t delay, uint64_t bits_a_second) {
    for (int k = 0; k < AT_ONCE && !full(d, now()); k++) {
        packet *p = &d->ring[(d->first + d->count) % SLOTS];
        ssize_t n = read(d->from, p->data, sizeof p->data);
        if (n <= 0) return; /* nothing waits there, or the device is down */
        uint64_t t = now();
        if (d->free_at < t) d->free_at = t;
        d->free_at += (uint64_t)n * 8 * SECOND / bits_a_second;
        p->due = d->free_at + delay;
        p->bytes = (int)n;
        d->count++;
    }
}

static void give(direction *d, uint64_t t) {
    while (d->count > 0 && d->ring[d->first].due <= t) {
        packet *p = &d->ring[d->first];
        if (write(d->to, p->data, (size_t)p->bytes) == p->bytes) {
            d->bytes += (uint64_t)p->bytes;
            d->packets++;
        } else {
            d->refused++; /* as a switch drops what a receiver does not take */
        }
        d->first = (d->first + 1) % SLOTS;
        d->count--;
    }
}

static void end(int signal) {
    (void)signal;
    ended = 1;
}

int main(int argc, char **argv) {
    double delay_ms = 1, mbit = 1000;
    static const struct option options[] = {{"delay", required_argument, NULL, 'd'},
                                            {"rate", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        char *rest = NULL;
        if (c == 'd') delay_ms = strtod(optarg, &rest);
        if (c == 'r') mbit = strtod(optarg, &rest);
        if (c == 'h' || !rest || *rest || !(delay_ms >= 0 && delay_ms <= 40) || !(mbit >= 1 && mbit <= 1e5))
            return fputs(usage, c == 'h' ? stdout : stderr), c != 'h';
    }
    if (argc - optind != 2) return fputs(usage, stderr), 1;
    int a = device_in(argv[optind]), b = device_in(argv[optind + 1]);
    direction way[2] = {{.from = a, .to = b}, {.from = b, .to = a}};
    for (int k = 0; k < 2; k++)
        if (!(way[k].ring = malloc(SLOTS * sizeof *way[k].ring))) return fputs("slow_link: no memory\n", stderr), 1;
    /* Before all others, where that is permitted: a relay that waits for a core would be a longer delay. */
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = PRIORITY});
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = end}, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = end}, NULL);
    puts("ready");
    fflush(stdout);
    while (!ended) {
        uint64_t t = now(), next = t + SECOND;
        struct pollfd wait[2];
        for (int k = 0; k < 2; k++) {
            direction *d = &way[k];
            give(d, t);
            if (d->count > 0 && d->ring[d->first].due < next) next = d->ring[d->first].due;
            bool stop = full(d, t);
            if (stop && d->free_at - MOST_WAITING / 2 < next) next = d->free_at - MOST_WAITING / 2;
            wait[k] = (struct pollfd){.fd = stop ? -1 : d->from, .events = POLLIN};
        }
        t = now();
        uint64_t rest = next > t ? next - t : 0;
        if (ppoll(wait, 2, &(struct timespec){(time_t)(rest / SECOND), (long)(rest % SECOND)}, NULL) <= 0) continue;
        for (int k = 0; k < 2; k++)
            if (wait[k].revents & POLLIN) take(&way[k], (uint64_t)(delay_ms * 1e6), (uint64_t)(mbit * 1e6));
    }
    for (int k = 0; k < 2; k++)
        printf("%s -> %s: %.1f MB in %llu packets, %llu not taken\n", argv[optind + k], argv[optind + 1 - k],
               (double)way[k].bytes / 1e6, (unsigned long long)way[k].packets, (unsigned long long)way[k].refused);
    return 0;
}
