/* FCFS and EASY of the examples in C++, with what flatc generates from the schema: to compare costs of a turn.

   Compiled as a library, it has the three functions that Batsim calls in its own process; its initialization data are
   "FCFS" or "EASY". Compiled with OVER_SOCKET, it is a program that answers Batsim over ZeroMQ:

       schedulers FCFS|EASY ENDPOINT

   It prints "bound" when Batsim may connect and, after the last reply, how many nanoseconds of the processor the program
   took since then. Messages are read in place and not verified, and one builder writes all replies, as in the schedulers
   of Batsim's authors. Jobs are only rejected for their size. */

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batprotocol_generated.h"

namespace fb = batprotocol::fb;

/* Hosts that are free: intervals by their first host, which do not touch one another. */
class Hosts {
public:
    using Intervals = std::vector<std::pair<uint32_t, uint32_t>>;

    uint32_t size() const { return count; }

    /* The first hosts; there must be enough of them. */
    Intervals take(uint32_t wanted) {
        Intervals taken;
        count -= wanted;
        while (wanted > 0) {
            auto first = intervals.begin();
            uint32_t low = first->first, high = first->second;
            intervals.erase(first);
            if (high - low >= wanted) {
                intervals.emplace(low + wanted, high);
                high = low + wanted - 1;
            }
            taken.emplace_back(low, high);
            wanted -= high - low + 1;
        }
        return taken;
    }

    void give_back(const Intervals &taken) {
        for (auto [low, high] : taken) {
            count += high - low + 1;
            auto next = intervals.lower_bound(low);
            if (next != intervals.end() && next->first == high + 1) {
                high = next->second;
                next = intervals.erase(next);
            }
            if (next != intervals.begin()) {
                auto before = std::prev(next);
                if (before->second + 1 == low) {
                    before->second = high;
                    continue;
                }
            }
            intervals.emplace_hint(next, low, high);
        }
    }

private:
    std::map<uint32_t, uint32_t> intervals;
    uint32_t count = 0;
};

struct Job {
    std::string id;
    uint32_t size;
    double walltime;
};

/* The latest end of a running job, the number of its start, and the number of its hosts. */
using Ending = std::tuple<double, uint64_t, uint32_t>;

struct Running {
    Hosts::Intervals hosts;
    Ending ending;
};

/* First come, first served. */
class FCFS {
public:
    virtual ~FCFS() = default;

    flatbuffers::FlatBufferBuilder builder;
    bool has_ended = false;

    virtual const char *name() const { return "FCFS"; }

    void hello() {
        begin(0);
        auto features = fb::CreateEDCRequestedSimulationFeatures(builder, false, false, false, true);
        auto event = fb::CreateEDCHelloEventDirect(builder, "1.0.0", "", name(), "1.0", "", features);
        add(fb::Event_EDCHelloEvent, event.Union());
        end();
    }

    /* Take a message; the reply is in the builder. */
    void answer(const uint8_t *data) {
        auto message = fb::GetMessage(data);
        begin(message->now());
        for (auto event : *message->events()) {
            switch (event->event_type()) {
            case fb::Event_JobSubmittedEvent:
                submitted(event->event_as_JobSubmittedEvent());
                break;
            case fb::Event_JobCompletedEvent:
                completed(event->event_as_JobCompletedEvent());
                break;
            case fb::Event_SimulationBeginsEvent:
                for (auto host : *event->event_as_SimulationBeginsEvent()->computation_hosts()) {
                    free.give_back({{host->id(), host->id()}});
                }
                size = free.size();
                break;
            case fb::Event_SimulationEndsEvent:
            case fb::Event_SimulationErrorEvent:
                has_ended = true;
                break;
            default:
                break;
            }
        }
        if (!has_ended) {
            decide();
        }
        end();
    }

protected:
    Hosts free;
    uint32_t size = 0;
    double now = 0;
    uint64_t started = 0;
    std::list<Job> queue;
    std::unordered_map<std::string, Running> running;

    virtual void expect_end(const Ending &) {}
    virtual void forget_end(const Ending &) {}

    virtual void decide() {
        while (!queue.empty() && queue.front().size <= free.size()) {
            start(queue.front());
            queue.pop_front();
        }
    }

    void start(const Job &job) {
        Running run{free.take(job.size), {now + job.walltime, ++started, job.size}};
        text.clear();
        for (auto [low, high] : run.hosts) {
            text += text.empty() ? "" : " ";
            text += std::to_string(low);
            if (high > low) {
                text += "-" + std::to_string(high);
            }
        }
        auto hosts = builder.CreateString(text);
        auto placement = fb::CreatePredefinedExecutorPlacementStrategyWrapper(builder);
        auto type = fb::ExecutorPlacement_PredefinedExecutorPlacementStrategyWrapper;
        auto allocation = fb::CreateAllocationPlacement(builder, hosts, type, placement.Union());
        auto event = fb::CreateExecuteJobEvent(builder, builder.CreateString(job.id), allocation);
        add(fb::Event_ExecuteJobEvent, event.Union());
        expect_end(run.ending);
        running.emplace(job.id, std::move(run));
    }

private:
    std::string text;
    std::vector<flatbuffers::Offset<fb::EventAndTimestamp>> events;

    void begin(double time) {
        now = time;
        builder.Clear();
        events.clear();
    }

    void add(fb::Event type, flatbuffers::Offset<void> event) {
        events.push_back(fb::CreateEventAndTimestamp(builder, now, type, event));
    }

    void end() { builder.Finish(fb::CreateMessage(builder, now, builder.CreateVector(events))); }

    void submitted(const fb::JobSubmittedEvent *event) {
        auto job = event->job();
        if (job->resource_request() == 0 || job->resource_request() > size) {
            add(fb::Event_RejectJobEvent, fb::CreateRejectJobEvent(builder, builder.CreateString(event->job_id())).Union());
            return;
        }
        auto walltime = job->walltime();
        queue.push_back({event->job_id()->str(), job->resource_request(), walltime ? *walltime : INFINITY});
    }

    void completed(const fb::JobCompletedEvent *event) {
        auto found = running.find(event->job_id()->str());
        if (found != running.end()) {
            free.give_back(found->second.hosts);
            forget_end(found->second.ending);
            running.erase(found);
        }
    }
};

/* EASY backfilling: the first job has a reservation, and later jobs start if they do not delay it. */
class EASY : public FCFS {
public:
    const char *name() const override { return "EASY"; }

protected:
    void expect_end(const Ending &ending) override { endings.insert(ending); }
    void forget_end(const Ending &ending) override { endings.erase(ending); }

    void decide() override {
        FCFS::decide();
        if (queue.empty() || free.size() == 0) {
            return;
        }
        auto [begin, spare] = reservation(queue.front());
        for (auto job = std::next(queue.begin()); job != queue.end() && free.size() > 0;) {
            bool in_time = now + job->walltime <= begin;
            if (job->size > free.size() || (!in_time && job->size > spare)) {
                ++job;
                continue;
            }
            if (!in_time) {
                spare -= job->size;
            }
            start(*job);
            job = queue.erase(job);
        }
    }

private:
    std::set<Ending> endings;

    /* When the job can start, and how many hosts are free besides it then. */
    std::pair<double, uint32_t> reservation(const Job &job) const {
        uint32_t hosts = free.size();
        for (const auto &[time, number, more] : endings) {
            hosts += more;
            if (hosts >= job.size) {
                return {time, hosts - job.size};
            }
        }
        return {INFINITY, 0};
    }
};

static std::unique_ptr<FCFS> named(const std::string &name) {
    if (name == "FCFS") {
        return std::make_unique<FCFS>();
    }
    return name == "EASY" ? std::make_unique<EASY>() : nullptr;
}

#ifdef OVER_SOCKET

#include <zmq.h>

static long long processor_time() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
    auto scheduler = count == 3 ? named(arguments[1]) : nullptr;
    if (!scheduler) {
        std::fprintf(stderr, "schedulers: expected FCFS or EASY, and an endpoint\n");
        return 2;
    }
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REP);
    if (zmq_bind(socket, arguments[2]) != 0) {
        std::fprintf(stderr, "schedulers: %s: %s\n", arguments[2], zmq_strerror(zmq_errno()));
        return 1;
    }
    std::puts("bound");
    std::fflush(stdout);
    long long begin = processor_time();
    std::vector<uint8_t> frame;
    for (bool is_first = true; !scheduler->has_ended; is_first = false) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket, 0) < 0) {
            return 1;
        }
        const uint8_t *reply;
        size_t size;
        if (is_first) { /* a word of flags is before the hello: 1 is binary */
            uint32_t flags = 1;
            scheduler->hello();
            frame.resize(sizeof flags + scheduler->builder.GetSize());
            std::memcpy(frame.data(), &flags, sizeof flags);
            std::memcpy(frame.data() + sizeof flags, scheduler->builder.GetBufferPointer(), frame.size() - sizeof flags);
            reply = frame.data();
            size = frame.size();
        }
        else {
            scheduler->answer(static_cast<const uint8_t *>(zmq_msg_data(&message)));
            reply = scheduler->builder.GetBufferPointer();
            size = scheduler->builder.GetSize();
        }
        zmq_msg_close(&message);
        if (zmq_send(socket, reply, size, 0) < 0) {
            return 1;
        }
    }
    std::printf("%lld\n", processor_time() - begin);
    zmq_close(socket);
    zmq_ctx_term(context);
    return 0;
}

#else

static std::unique_ptr<FCFS> loaded;

static void give(uint8_t **reply, uint32_t *size) {
    *reply = loaded->builder.GetBufferPointer();
    *size = loaded->builder.GetSize();
}

extern "C" uint8_t batsim_edc_init(const uint8_t *data, uint32_t size, uint32_t *flags, uint8_t **reply, uint32_t *reply_size) {
    loaded = named(std::string(reinterpret_cast<const char *>(data), size));
    if (!loaded) {
        return 1;
    }
    *flags = 1; /* binary */
    loaded->hello();
    give(reply, reply_size);
    return 0;
}

extern "C" uint8_t batsim_edc_take_decisions(const uint8_t *data, uint32_t, uint8_t **reply, uint32_t *reply_size) {
    loaded->answer(data);
    give(reply, reply_size);
    return 0;
}

extern "C" uint8_t batsim_edc_deinit() {
    loaded.reset();
    return 0;
}

#endif
