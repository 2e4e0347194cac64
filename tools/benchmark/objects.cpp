/* Reads and writes messages as the C++ library does, with flatbuffers' object API, for as often as it is told.

   It is given files with a message each. Then each line of its input names a direction, a file by its number, and how
   often; each line of its output tells how many nanoseconds of the processor's time that took. The values are freed, as
   those of Python are, and there is one builder, as whoever wants to be fast has. */

#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "batprotocol_generated.h"

namespace fb = batprotocol::fb;
using Bytes = std::vector<char>;

static long long now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static std::unique_ptr<fb::MessageT> read(const Bytes &bytes) {
    auto data = reinterpret_cast<const uint8_t *>(bytes.data());
    flatbuffers::Verifier verifier(data, bytes.size());
    if (!fb::VerifyMessageBuffer(verifier)) {
        return nullptr;
    }
    return fb::UnPackMessage(data);
}

/* What comes out is copied, as it is to outlive the next message: into a place that is there already. */
static size_t write(flatbuffers::FlatBufferBuilder &builder, const fb::MessageT &message) {
    builder.Clear();
    builder.Finish(fb::Message::Pack(builder, &message));
    return builder.GetSize();
}

int main(int count, char **files) {
    std::vector<Bytes> messages;
    std::vector<std::unique_ptr<fb::MessageT>> values;
    flatbuffers::FlatBufferBuilder builder;
    for (int index = 1; index < count; index++) {
        std::ifstream file(files[index], std::ios::binary);
        messages.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        values.push_back(read(messages.back()));
        if (!values.back() || !write(builder, *values.back())) {
            std::fprintf(stderr, "%s is no message\n", files[index]);
            return 1;
        }
    }
    char direction[16];
    unsigned which;
    long times;
    while (std::scanf("%15s %u %ld", direction, &which, &times) == 3 && which < messages.size()) {
        size_t done = 0;
        long long start = now();
        if (!std::strcmp(direction, "decode")) {
            for (long time = 0; time < times; time++) {
                done += read(messages[which])->events.size() + 1;
            }
        }
        else {
            for (long time = 0; time < times; time++) {
                done += write(builder, *values[which]);
            }
        }
        std::printf("%lld %zu\n", now() - start, done);
        std::fflush(stdout);
    }
    return 0;
}
