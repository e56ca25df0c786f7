/* yardstick: how fast A2S_INFO can be asked over plain Linux UDP sockets by a program that keeps nothing.
 *
 * A scanner also remembers, checks, decodes and writes; scripts/bench compiles this file and says what that costs.
 *   yardstick serve [--challenge] [--port P]          answers on every address that is routed here; CPU 1
 *   yardstick query N WINDOW [--single] [--port P]    asks N addresses from 127.0.0.2 on, WINDOW at a time; CPU 0
 *   yardstick count SECONDS [--port P]                datagrams that arrive in each 100 ms, from the first one on
 * With --challenge a request without the challenge is answered with one, as real servers do: two datagrams each way.
 * With --single `query` makes one system call a datagram, else up to 64 share one. What is lost stays lost: `query`
 * ends when all have answered or nothing came for two seconds, and its exit code is 1 if an answer is missing. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* The request is 25 bytes with its final NUL, or 29 with the challenge after it. */
#define REQUEST "\xff\xff\xff\xff" "TSource Engine Query"
#define COOKIE "\x0b\x16\x21\x2c"
static char plain[] = REQUEST, proving[] = REQUEST "\0" COOKIE, challenge[] = "\xff\xff\xff\xff" "A" COOKIE;
static char info[] = "\xff\xff\xff\xff" "I\x11" "A server with a name as long as many of them have [24/7]\0"
    "cp_granary\0" "tf\0" "Team Fortress\0" "\xb8\x01" "\x11\x18\x02" "dl\0\1" "8835751\0" "\xb1" "\x87\x69"
    "\1\2\3\4\5\6\7\1" "cp,increased_maxplayers\0" "\xb8\x01\0\0\0\0\0\0";
enum { PLAIN = sizeof plain, PROVING = sizeof proving - 1, CHALLENGE = sizeof challenge - 1, INFO = sizeof info - 1 };
enum { BATCH = 64, SIZE = 1500, CONTROL = CMSG_SPACE(sizeof(struct in_pktinfo)), FIRST = 0x7f000002, GIVE_UP_S = 2 };

/* Datagrams that share a system call, with room for what each one needs. */
static struct {
    struct mmsghdr msg[BATCH];
    struct iovec bytes[BATCH];
    struct sockaddr_in peer[BATCH];
    char buffer[BATCH][SIZE], control[BATCH][CONTROL];
} in, out;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static void pin_to(int cpu) { /* with one CPU there is nothing to choose, and this does nothing */
    cpu_set_t set = {0};
    CPU_SET(cpu, &set), sched_setaffinity(0, sizeof set, &set);
}
static void await(int fd, int event, int ms) { poll(&(struct pollfd){fd, event, 0}, 1, ms); }

static int open_socket(int port, int flags) {
    int fd = socket(AF_INET, SOCK_DGRAM | flags, 0), yes = 1, size = 64 << 20; /* a window fits, however late we run */
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(port)};
    for (int i = 0, option[] = {SO_RCVBUF, SO_SNDBUF, SO_RCVBUFFORCE, SO_SNDBUFFORCE}; i < 4; i++)
        setsockopt(fd, SOL_SOCKET, option[i], &size, sizeof size); /* the last two as root only */
    if (port) setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes); /* a server asks which address was asked */
    if (fd < 0 || bind(fd, (struct sockaddr *)&local, sizeof local)) perror("yardstick: bind"), exit(2);
    return fd;
}

/* Up to `most` datagrams into `in`; none is 0. The kernel shortens the lengths, so all are set each time. */
static int receive(int fd, int most, int flags, int control) {
    for (int i = 0; i < most; i++) {
        in.bytes[i] = (struct iovec){in.buffer[i], SIZE};
        in.msg[i].msg_hdr = (struct msghdr){in.peer + i, sizeof *in.peer, in.bytes + i, 1, in.control[i], control, 0};
    }
    int n = recvmmsg(fd, in.msg, most, flags, NULL);
    return n > 0 ? n : 0;
}

/* Puts datagram `i` into `out`: bytes that stay where they are, and control data if there are any. */
static void put(int i, struct sockaddr_in *to, char *bytes, size_t length, void *control, size_t control_length) {
    out.bytes[i] = (struct iovec){bytes, length};
    out.msg[i].msg_hdr = (struct msghdr){to, sizeof *to, &out.bytes[i], 1, control, control_length, 0};
}

static void send_out(int fd, int n) {
    for (int done = 0; done < n;) {
        int sent = sendmmsg(fd, out.msg + done, n - done, 0);
        if (sent > 0) done += sent;
        else await(fd, POLLOUT, 10);
    }
}

static void serve(int fd, int challenges) {
    for (pin_to(1);;) {
        int received = receive(fd, BATCH, MSG_WAITFORONE, CONTROL), replies = 0;
        for (int i = 0; i < received; i++) {
            size_t length = in.msg[i].msg_len;
            int proven = length == PROVING && !memcmp(in.buffer[i], proving, PROVING);
            if (!proven && (length < PLAIN || memcmp(in.buffer[i], plain, PLAIN))) continue;
            struct in_pktinfo *asked = (void *)CMSG_DATA(CMSG_FIRSTHDR(&in.msg[i].msg_hdr));
            *asked = (struct in_pktinfo){.ipi_spec_dst = asked->ipi_addr}; /* answer from the address that was asked */
            int demand = challenges && !proven; /* of proof that the sender is where it says */
            put(replies++, &in.peer[i], demand ? challenge : info, demand ? CHALLENGE : INFO, in.control[i], CONTROL);
        }
        send_out(fd, replies);
    }
}

static int query(int fd, int port, long n, long window, int width) {
    long asked = 0, answered = 0;
    double start = now(), last = start;
    for (pin_to(0); answered < n && now() - last < GIVE_UP_S;) {
        int first = 0, challenges = 0;
        for (; first < width && asked < n && asked - answered < window; first++, asked++) {
            out.peer[first] = (struct sockaddr_in){AF_INET, htons(port), {htonl(FIRST + asked)}, {0}};
            put(first, &out.peer[first], plain, PLAIN, NULL, 0);
        }
        send_out(fd, first);
        int received = receive(fd, width, 0, 0);
        for (int i = 0; i < received; i++)
            if (in.buffer[i][4] == 'A') put(challenges++, &in.peer[i], proving, PROVING, NULL, 0); else answered++;
        send_out(fd, challenges);
        if (received) last = now();
        else if (asked == n || asked - answered >= window) await(fd, POLLIN, 100);
    }
    double t = now() - start, cpu = (double)clock() / CLOCKS_PER_SEC;
    printf("answered=%ld of %ld seconds=%.3f cpu_seconds=%.3f servers_per_s=%.0f\n", answered, n, t, cpu, answered / t);
    return answered < n;
}

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int count(int fd, int windows) {
    int *seen = calloc(windows + 1, sizeof *seen), w;
    await(fd, POLLIN, -1);
    for (double start = now(); (w = (now() - start) * 10) < windows;) {
        int received = receive(fd, BATCH, 0, 0);
        if (received) seen[w] += received;
        else await(fd, POLLIN, 1);
    }
    for (w = 0; w < windows; w++) printf("%d%c", seen[w], w % 10 == 9 ? '\n' : ' ');
    qsort(seen, windows, sizeof *seen, ascending);
    return printf("per 100 ms: min=%d median=%d max=%d\n", seen[0], seen[windows / 2], seen[windows - 1]) < 0;
}

int main(int argc, char **argv) {
    int port = 27015, challenges = 0, width = BATCH, words = 0;
    char *word[3] = {"", "0", "0"};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--challenge")) challenges = 1;
        else if (!strcmp(argv[i], "--single")) width = 1;
        else if (!strcmp(argv[i], "--port") && i + 1 < argc) port = atoi(argv[++i]);
        else if (words < 3) word[words++] = argv[i];
    }
    int n = atoi(word[1]), fd = open_socket(words == 3 ? 0 : port, strcmp(*word, "serve") ? SOCK_NONBLOCK : 0);
    if (words == 1 && !strcmp(*word, "serve")) serve(fd, challenges);
    if (words == 3 && !strcmp(*word, "query")) return query(fd, port, n, atoi(word[2]), width);
    if (words == 2 && !strcmp(*word, "count") && n > 0) return count(fd, 10 * n);
    fputs("usage: yardstick serve [--challenge] | query N WINDOW [--single] | count SECONDS   [--port P]\n", stderr);
    return 2;
}
